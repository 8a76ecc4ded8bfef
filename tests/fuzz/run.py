#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A short fuzz run of every target with a fixed seed: run.py REPLAY-BINARY [SECONDS [SEED [TARGET...]]]. SECONDS are for the
target "model", each reader of samples takes a sixth of them. A crash leaves its input in build/test-logs."""
import concurrent.futures
import glob
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run_target(binary, target, seconds, seed):
    """Prints one line; returns whether nothing was found."""
    seeds = glob.glob(os.path.join(ROOT, "build/deps/onnx/work/onnx-*/onnx/backend/test/data")) if target == "model" else []
    last = os.path.join(ROOT, f"build/test-logs/fuzz-last-{target}")
    try:
        done = subprocess.run([binary, target, str(seconds), seed] + seeds, env={**os.environ, "QUARKQ_FUZZ_LAST": last}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds + 600, check=False)
    except subprocess.TimeoutExpired:
        print(f"FAIL fuzz-{target}: the input {last} takes longer than 10 minutes")
        return False
    if done.returncode != 0:
        print(done.stdout[-4000:])
        print(f"FAIL fuzz-{target}: ended with status {done.returncode}; the input is {last}")
        return False
    print(f"ok fuzz-{target}: {done.stdout.strip()} in {seconds:g} s", flush=True)
    return True


def main():
    binary = sys.argv[1]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 120.0
    seed = sys.argv[3] if len(sys.argv) > 3 else "1"
    targets = sys.argv[4:] or subprocess.run([binary, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    os.makedirs(os.path.join(ROOT, "build/test-logs"), exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(lambda target: run_target(binary, target, seconds if target == "model" else seconds / 6, seed), targets))
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
