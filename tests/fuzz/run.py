#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fuzz targets without a fuzzer: run.py REPLAY-BINARY [SECONDS [SEED [TARGET...]]]

SECONDS are for each target whose seeds are files (models), the others take a sixth of them. A fault leaves its input in build/test-logs. Hours are
for campaign.py."""
import argparse
import concurrent.futures
import glob
import os
import subprocess
import sys
import tempfile
import time

from corpora import targets_of, unpack

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SEED_FILES = os.path.join(ROOT, "build/deps/onnx/work/onnx-*/onnx/backend/test/data")
LOGS = os.path.join(ROOT, "build/test-logs")
HANG_SECONDS = 600


def last_input(target):
    return os.path.join(LOGS, f"fuzz-last-{target}")


def wait_for(process, last):
    """False after killing a process that has been at the input `last` for too long. All seeds run first, which takes minutes on a busy machine."""
    begun = time.time()
    while True:
        try:
            process.wait(5)
            return True
        except subprocess.TimeoutExpired:
            if time.time() - max(begun, os.path.getmtime(last) if os.path.exists(last) else 0) > HANG_SECONDS:
                process.kill()
                process.wait()
                return False


def run_target(binary, target, seeds, seconds, seed):
    """Whether nothing was found, and what is to be said."""
    last = last_input(target)
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        process = subprocess.Popen([binary, target, str(seconds), str(seed)] + seeds, env={**os.environ, "QUARKQ_FUZZ_LAST": last}, stdout=said,
                                   stderr=subprocess.STDOUT)
        if not wait_for(process, last):
            return False, f"FAIL fuzz-{target}: the input {last} takes longer than 10 minutes"
        said.seek(0)
        text = said.read()
    if process.returncode != 0:
        return False, f"{text[-4000:]}\nFAIL fuzz-{target}: ended with status {process.returncode}, seed {seed}; the input is {last}"
    return True, f"ok fuzz-{target}: {text.strip()} in {seconds:g} s"


def run_targets(arguments, targets):
    with tempfile.TemporaryDirectory() as corpora, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        unpack(corpora)

        def one(target):
            from_files = targets[target]
            seeds = sorted(glob.glob(os.path.join(corpora, target, "*"))) + (glob.glob(SEED_FILES) if from_files else [])
            good, text = run_target(arguments.binary, target, seeds, arguments.seconds if from_files else arguments.seconds / 6, arguments.seed)
            print(text, flush=True)
            return good
        return all(list(pool.map(one, targets)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("seconds", nargs="?", type=float, default=120)
    parser.add_argument("seed", nargs="?", default="1")
    parser.add_argument("targets", nargs="*")
    arguments = parser.parse_args()
    os.makedirs(LOGS, exist_ok=True)
    known = targets_of(arguments.binary)
    return 0 if run_targets(arguments, {name: known[name] for name in arguments.targets} if arguments.targets else known) else 1


if __name__ == "__main__":
    sys.exit(main())
