#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fuzz runs: run.py REPLAY-BINARY [SECONDS [SEED [TARGET...]]]        a short one, of every target with a fixed seed
             run.py REPLAY-BINARY --hours N [--record FILE] [TARGET...]   as long as that, on all cores, with new seeds

SECONDS are for each target whose seeds are files (models), the others take a sixth of them. --hours shares N hours of all cores out
over the targets in rounds of a few minutes; after each round the record, which adds up over runs, holds what each target has had: inputs,
CPU hours, faults. A fault leaves its input in build/test-logs."""
import argparse
import concurrent.futures
import glob
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SEED_FILES = os.path.join(ROOT, "build/deps/onnx/work/onnx-*/onnx/backend/test/data")
LOGS = os.path.join(ROOT, "build/test-logs")
ROUND_SECONDS = 120.0  # of one target in a long run
HANG_SECONDS = 600


def targets_of(binary):
    """{name: whether its seeds are files}"""
    lines = subprocess.run([binary, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return {line.split()[0]: line.endswith(" files") for line in lines}


def last_input(target, suffix=""):
    return os.path.join(LOGS, f"fuzz-last-{target}{suffix}")


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


def run_target(binary, target, from_files, seconds, seed, suffix=""):
    """(whether nothing was found, what is to be said, inputs that ran)"""
    seeds = glob.glob(SEED_FILES) if from_files else []
    last = last_input(target, suffix)
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        process = subprocess.Popen([binary, target, str(seconds), str(seed)] + seeds, env={**os.environ, "QUARKQ_FUZZ_LAST": last}, stdout=said,
                                   stderr=subprocess.STDOUT)
        if not wait_for(process, last):
            return False, f"FAIL fuzz-{target}: the input {last} takes longer than 10 minutes", 0
        said.seek(0)
        text = said.read()
    if process.returncode != 0:
        return False, f"{text[-4000:]}\nFAIL fuzz-{target}: ended with status {process.returncode}, seed {seed}; the input is {last}", 0
    count = re.search(r"(\d+) inputs ran", text)
    return True, f"ok fuzz-{target}: {text.strip()} in {seconds:g} s", int(count.group(1)) if count else 0


def run_short(arguments, targets):
    def one(target):
        good, text, _ = run_target(arguments.binary, target, targets[target], arguments.seconds if targets[target] else arguments.seconds / 6, arguments.seed)
        print(text, flush=True)
        return good
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return all(list(pool.map(one, targets)))


def read_record(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)["targets"]


def write_record(path, record):
    totals = {key: round(sum(entry[key] for entry in record.values()), 3) for key in ("inputs", "CPU hours", "faults")}
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump({"total": totals, "targets": dict(sorted(record.items()))}, file, indent=1)
        file.write("\n")
    os.replace(path + ".part", path)


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_round(arguments, targets, seed):
    """{target: (inputs, CPU seconds, faults)} of one round of one lane; a process of its own, so that its children's time is theirs."""
    found = {}
    for number, (target, from_files) in enumerate(targets.items()):
        before = children_seconds()
        good, text, count = run_target(arguments.binary, target, from_files, arguments.round, seed + number, f"-{seed}")
        if not good:
            print(text, flush=True)
        else:
            os.remove(last_input(target, f"-{seed}"))
        found[target] = (count, children_seconds() - before, int(not good))
    return found


def run_long(arguments, targets):
    record, faults = read_record(arguments.record), 0
    end = time.monotonic() + arguments.hours * 3600
    seed = int(time.time()) % 1000000 * 1000
    with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
        lanes = {}
        while lanes or time.monotonic() < end:
            while len(lanes) < arguments.jobs and time.monotonic() < end:
                seed += len(targets)
                order = list(targets)[len(lanes):] + list(targets)[:len(lanes)]
                lanes[pool.submit(run_round, arguments, {name: targets[name] for name in order}, seed)] = seed
            for done in concurrent.futures.wait(lanes, return_when=concurrent.futures.FIRST_COMPLETED).done:
                del lanes[done]
                for target, (count, seconds, bad) in done.result().items():
                    entry = record.setdefault(target, {"inputs": 0, "CPU hours": 0.0, "faults": 0})
                    entry["inputs"] += count
                    entry["CPU hours"] = round(entry["CPU hours"] + seconds / 3600, 4)
                    entry["faults"] += bad
                    faults += bad
                write_record(arguments.record, record)
    print(f"{sum(entry['inputs'] for entry in record.values())} inputs, {sum(entry['CPU hours'] for entry in record.values()):.2f} CPU hours in all")
    return faults == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("rest", nargs="*", help="SECONDS SEED TARGET... of a short run, TARGET... of a long one")
    parser.add_argument("--hours", type=float, default=0)
    parser.add_argument("--round", type=float, default=ROUND_SECONDS, help="seconds of a target in a round of a long run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--record", default=os.path.join(ROOT, "tests", "fuzz", "results.json"))
    arguments = parser.parse_intermixed_args()
    os.makedirs(LOGS, exist_ok=True)
    known, names = targets_of(arguments.binary), list(arguments.rest)
    if not arguments.hours:
        arguments.seconds = float(names.pop(0)) if names else 120.0
        arguments.seed = names.pop(0) if names else "1"
    targets = {name: known[name] for name in names} if names else known
    return 0 if (run_long if arguments.hours else run_short)(arguments, targets) else 1


if __name__ == "__main__":
    sys.exit(main())
