#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fuzz targets: run.py REPLAY-BINARY [TARGET...] --seconds N, without a fuzzer; run.py FUZZER [TARGET...] --hours N, guided by coverage.

A fault leaves its input in build/test-logs."""
import argparse
import concurrent.futures
import glob
import os
import subprocess
import sys
import tempfile
import time

from campaign import run_campaign
from corpora import LOGS, OPERATOR_TESTS, ROOT, targets_of, unpack

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
            seeds = sorted(glob.glob(os.path.join(corpora, target, "*"))) + (glob.glob(OPERATOR_TESTS) if from_files else [])
            good, text = run_target(arguments.binary, target, seeds, arguments.seconds if from_files else arguments.seconds / 6, arguments.seed)
            print(text, flush=True)
            return good
        return all(list(pool.map(one, targets)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("targets", nargs="*", help="default: all")
    parser.add_argument("--seconds", type=float, default=120, help="for each target whose seeds are files (models); the others take a sixth")
    parser.add_argument("--seed", default="1")
    campaign = parser.add_argument_group("guided by coverage (campaign.py)")
    campaign.add_argument("--hours", type=float, help="on the clock")
    campaign.add_argument("--slice", type=float, default=120, help="seconds of a target before the next one")
    campaign.add_argument("--jobs", type=int, default=os.cpu_count())
    campaign.add_argument("--record", default=os.path.join(ROOT, "tests", "fuzz", "results.json"))
    campaign.add_argument("--corpora", default=os.path.join(ROOT, "build", "fuzz", "corpora"))
    arguments = parser.parse_args()
    os.makedirs(LOGS, exist_ok=True)
    known = targets_of(arguments.binary)
    targets = {name: known[name] for name in arguments.targets} if arguments.targets else known
    good = run_campaign(arguments, targets) if arguments.hours else run_targets(arguments, targets)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
