#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the rescue costs: processor seconds of `quantize` with it and without it.

    rescue_time.py [--networks NAME ...] [--targets NAME ...] [--record FILE] [--check]

Quantizes the networks of tests/accuracy for each target twice: by the default command, and with --on-collapse warn, which compares outputs but
tries no remedies. Processor seconds are compared, because they depend less on other work of the machine than the time of the clock. --check fails
if a run with the rescue takes more than three times the plain one, and more than LEAST seconds longer. Needs ../shared, numpy, pillow, scipy and
onnxruntime; QUARKQ names the program.
"""
import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "accuracy"))
from labelled import model_of
from scored import NETWORKS
from targets import PRESETS, PROGRAM, write_calibration

MOST_TIMES, LEAST = 3, 1.0  # below a second more nobody waits


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(model, target, calib, folder, *options):
    """Processor seconds, and the report."""
    report = os.path.join(folder, "r.json")
    before = processor_seconds()
    subprocess.run([PROGRAM, "quantize", model, "--config", PRESETS[target], "--target", target, "--calib", calib, "-o", os.path.join(folder, "q.onnx"),
                    "--report", report, "--quiet", *options], check=True)
    with open(report, encoding="utf-8") as file:
        return round(processor_seconds() - before, 2), json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=sorted(NETWORKS))
    parser.add_argument("--targets", nargs="+", default=["x1", "x2"])
    parser.add_argument("--record", help="write the numbers here")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    rows, slow = {}, []
    for name in arguments.networks:
        with tempfile.TemporaryDirectory() as folder:
            calib = os.path.join(folder, "calib")
            write_calibration(NETWORKS[name](), model_of(name), calib)
            for target in arguments.targets:
                plain = measured(model_of(name), target, calib, folder, "--on-collapse", "warn")[0]
                rescued, report = measured(model_of(name), target, calib, folder)
                times = rescued / plain
                rows[f"{name} {target}"] = {"plain": plain, "rescued": rescued, "times": round(times, 2), "kept": report["rescue"] is not None}
                print(f"{name:22} {target:4} {plain:7.2f} s {rescued:7.2f} s {times:5.1f} times", flush=True)
                if times > MOST_TIMES and rescued - plain > LEAST:
                    slow.append(f"{name} for {target}: {times:.1f} times")
    ratios = sorted(row["times"] for row in rows.values())
    print(f"{len(rows)} runs: median {ratios[len(ratios) // 2]:.1f} times, most {ratios[-1]:.1f} times, all together "
          f"{sum(row['rescued'] for row in rows.values()) / sum(row['plain'] for row in rows.values()):.1f} times; {len(slow)} above {MOST_TIMES}")
    if arguments.record:
        with open(arguments.record, "w", encoding="utf-8") as file:
            json.dump({"machine": f"{os.cpu_count()} cores, {platform.machine()}", "runs": rows}, file, indent=1)
            file.write("\n")
    if arguments.check and slow:
        sys.exit("\n".join(slow))


if __name__ == "__main__":
    main()
