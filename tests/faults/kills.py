#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs that are killed at random moments, and two that write one output: kills.py [--kills N] [--seed S] [--record FILE]

After each kill every output is the old one, the new one, or missing as before; after the next run nothing else is there."""
import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

from run import CASES, Bench, build_injector, contents, is_whole, make_inputs, small_model

KILLED = ("quantize", "quantize, weights beside", "calibrate", "merge", "tune", "report")
ENDS = {-signal.SIGKILL, 0}


def start(command):
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def kill_often(bench, count, draw):
    """Findings, and how many of the runs were killed before they ended and left something."""
    begin = time.perf_counter()
    if bench.next_run():
        return [f"{bench.case.name}: {bench.next_run()}"], 0, 0
    whole = time.perf_counter() - begin
    findings, kills, littered = [], 0, 0
    while kills < count:
        process = start(bench.command)
        time.sleep(draw.uniform(0, whole))
        process.send_signal(signal.SIGKILL)
        code = process.wait()
        kills += code == -signal.SIGKILL
        now = contents(bench.out)
        if code not in ENDS:
            findings.append(f"{bench.case.name}: ended with {code}")
        for name in bench.new:  # the run before wrote it
            if name not in now or not is_whole(name, now[name], bench.new[name]):
                findings.append(f"{bench.case.name}: {name} is broken after a kill")
        littered += any(name not in bench.new for name in now)
        wrong = bench.next_run()
        if wrong:
            findings.append(f"{bench.case.name}: {wrong}")
    return findings, kills, littered


def write_at_once(bench, rounds):
    """Two processes with different settings write the same files."""
    other = [*bench.command, "--set", "Percentile=90", "--set", "calibrate_method=CalibrationMethod.Percentile"]
    results = []
    for command in (bench.command, other):
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        results.append(contents(bench.out)["q.onnx"])
    if results[0] == results[1]:
        return ["the two runs do not differ"]
    findings = []
    for _ in range(rounds):
        codes = [process.wait() for process in (start(bench.command), start(other))]
        now = contents(bench.out)
        if codes != [0, 0] or now["q.onnx"] not in results or sorted(now) != sorted(bench.new):
            findings.append(f"two processes: exit codes {codes}, files {sorted(now)}, whole: {now['q.onnx'] in results}")
    return findings


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=30, help="of two processes that write one output")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", default="")
    arguments = parser.parse_args()
    draw, record, findings = random.Random(arguments.seed), {"kills": {}, "littered": {}}, []
    with tempfile.TemporaryDirectory() as folder:
        injector, inputs = build_injector(folder), make_inputs(os.path.join(folder, "inputs"), small_model(), 3)
        cases = [case for case in CASES if case.name in KILLED]
        for number, case in enumerate(cases):
            place = os.path.join(folder, f"case{number}")
            os.makedirs(place)
            bench = Bench(case, inputs, injector, place)
            found, kills, littered = kill_often(bench, -(-arguments.kills // len(cases)), draw)
            findings += found
            record["kills"][case.name], record["littered"][case.name] = kills, littered
            print(f"{'FAIL' if found else 'ok'} {case.name}: {kills} kills, {littered} left something for the next run to remove", flush=True)
            if case.name == "quantize":
                found = write_at_once(bench, arguments.rounds)
                findings += found
                record["two processes"] = arguments.rounds
                print(f"{'FAIL' if found else 'ok'} two processes that write one output: {arguments.rounds} times", flush=True)
    for finding in findings[:30]:
        print("  " + finding)
    record["findings"] = len(findings)
    print(f"{sum(record['kills'].values())} kills, {len(findings)} findings")
    if arguments.record:
        with open(arguments.record, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=1)
            file.write("\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
