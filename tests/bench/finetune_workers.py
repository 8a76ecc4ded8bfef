#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How finetuning scales with workers of one core each that share a folder, and that no byte of the result depends on their number.

    finetune_workers.py [--quarkq BIN] [--preset XINT8_ADAROUND] [--workers 1 2 4] [--iterations 1000] [--rounds 3] [--output FILE.json]

efficientnet_lite0_224 with 128 photos. Each worker is pinned to a core of its own; a number of workers above that of the cores is
left out. Seconds are those until the last worker has written the model, calibration included; the least of the rounds counts. The
efficiency of n workers is T(1) / (n T(n)). The script says how busy the machine was before it began: figures count when nothing else
runs. Ends with status 1 when results differ, and when the efficiency is below 1 / 1.2 on an idle machine.
Needs: numpy, onnxruntime, pillow, ../shared.
"""
import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

from compare_ort import ROOT, SHARED, machine, write_report
from photos import make_samples

MODEL = "efficientnet_lite0_224"
LEAST_EFFICIENCY = 1 / 1.2
IDLE_SHARE = 0.9  # of all cores over WATCH_SECONDS
WATCH_SECONDS = 3


def idle_share():
    def times():
        with open("/proc/stat", encoding="ascii") as file:
            fields = [int(text) for text in file.readline().split()[1:9]]
        return fields[3], sum(fields)
    idle, total = times()
    time.sleep(WATCH_SECONDS)
    idle_now, total_now = times()
    return (idle_now - idle) / max(total_now - total, 1)


def run_workers(args, count, cores, samples, work):
    """Wall seconds, processor seconds of all workers, hash of the result."""
    shared, out = os.path.join(work, "shared"), os.path.join(work, "out.onnx")
    shutil.rmtree(shared, ignore_errors=True)
    command = [args.quarkq, "quantize", os.path.join(SHARED, "models", MODEL + ".onnx"), "--config", args.preset, "--calib", samples, "-o", out,
               "--quiet", "--no-verify", "--threads", "1", "--set", "FastFinetune.Parallel=true", "--set",
               f"FastFinetune.NumIterations={args.iterations}", "--workers-folder", shared]
    before, start = os.times(), time.monotonic()
    workers = [subprocess.Popen(["taskset", "-c", str(core), *command]) for core in cores[:count]]
    if any([worker.wait() != 0 for worker in workers]):
        sys.exit("a worker failed")
    seconds, after = time.monotonic() - start, os.times()
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    with open(out, "rb") as file:
        return seconds, processor, hashlib.sha256(file.read()).hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quarkq", default=os.path.join(ROOT, "build/release/quarkq"))
    parser.add_argument("--preset", default="XINT8_ADAROUND")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output")
    args = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    counts = sorted({1, *(count for count in args.workers if count <= len(cores))})
    left_out = [count for count in args.workers if count > len(cores)]
    idle = idle_share()
    runs = {count: [] for count in counts}
    with tempfile.TemporaryDirectory() as work:
        samples = os.path.join(work, "calib")
        os.makedirs(samples)
        make_samples(MODEL, samples)
        for _ in range(args.rounds):
            for count in counts:
                runs[count].append(run_workers(args, count, cores, samples, work))
    best = {count: min(seconds for seconds, _, _ in rows) for count, rows in runs.items()}
    report = {"machine": machine(), "model": MODEL, "preset": args.preset, "iterations": args.iterations, "idle_share_before": round(idle, 3), "workers": []}
    for count, rows in runs.items():
        efficiency = best[1] / (count * best[count])
        processor = min(row[1] for row in rows)
        report["workers"].append({"count": count, "seconds": round(best[count], 2), "processor_seconds": round(processor, 2), "efficiency": round(efficiency, 3)})
        print(f"{count} workers: {best[count]:6.1f} s, {processor:6.1f} processor s, efficiency {efficiency:.2f}")
    write_report(args.output, report)
    hashes = {row[2] for rows in runs.values() for row in rows}
    is_idle = idle >= IDLE_SHARE
    for count in left_out:
        print(f"{count} workers: left out, there are {len(cores)} cores")
    print(f"results {'are the same' if len(hashes) == 1 else 'DIFFER'}; the cores were idle for {100 * idle:.0f} % before"
          + ("" if is_idle else ": BUSY, the times do not count"))
    is_slow = is_idle and any(row["efficiency"] < LEAST_EFFICIENCY for row in report["workers"])
    return 1 if len(hashes) > 1 or is_slow else 0


if __name__ == "__main__":
    sys.exit(main())
