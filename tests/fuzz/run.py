#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A short fuzz run with a fixed seed: run.py REPLAY-BINARY [SECONDS [SEED]]. A crash leaves its model in build/test-logs."""
import glob
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main():
    binary = sys.argv[1]
    seconds = sys.argv[2] if len(sys.argv) > 2 else "120"
    seed = sys.argv[3] if len(sys.argv) > 3 else "1"
    seeds = glob.glob(os.path.join(ROOT, "build/deps/onnx/work/onnx-*/onnx/backend/test/data"))
    last = os.path.join(ROOT, "build/test-logs/fuzz-last.onnx")
    os.makedirs(os.path.dirname(last), exist_ok=True)
    try:
        done = subprocess.run([binary, seconds, seed] + seeds, env={**os.environ, "QUARKQ_FUZZ_LAST": last}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=float(seconds) + 600, check=False)
    except subprocess.TimeoutExpired:
        print(f"FAIL fuzz: the model {last} takes longer than 10 minutes")
        return 1
    if done.returncode != 0:
        print(done.stdout[-4000:])
        print(f"FAIL fuzz: ended with status {done.returncode}; the model is {last}")
        return 1
    print(f"ok fuzz: {done.stdout.strip()} in {seconds} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
