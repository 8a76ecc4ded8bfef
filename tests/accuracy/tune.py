#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""quarkq tune on labelled networks: is the goal met within the time, from a cold start, with one command?

    tune.py [--only REGEX]

Writes tests/accuracy/tune_results.json and prints a line per goal. Needs ../shared, and numpy, onnxruntime, pillow and scipy; QUARKQ names
the program. Idle cores are assumed: `load` is how many processes wanted to run before each. No sample that is scored is calibrated with.
"""
import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time

from labelled import calibration, judged_by, model_of, more_about
from run import ROOT, SHARED

RESULTS = os.path.join(ROOT, "tests", "accuracy", "tune_results.json")
# Network, preset, measure (of score_results.py, or a metric of quarkq), goal, time.
GOALS = [
    ("efficientnet_lite0_224", "xint8", "top1", "drop<=0.005", "10m"),
    ("efficientnet_lite0_224", "a8w8", "top1", "drop<=0.01", "3m"),
    ("squeezenet1_1", "a8w8", "top1", "drop<=0.02", "10m"),
    ("grid_detector", "xint8", "ap50", "drop<=0.01", "3m"),
    ("grid_detector", "a8w8", "f1", "drop<=0.01", "3m"),
    ("char_gpt", "a8w8", "bits_per_character", "value<=1.62", "3m"),
    ("mlsd_tiny_320", "a8w8", "cosine", "value>=0.95", "10m"),
    ("vit_digits", "xint8", "top1", "drop<=0.01", "3m"),
    ("mobilenetv3_digits", "a8w8", "top1", "drop<=0.01", "3m"),
    ("gtcrn_stream", "a8w8", "si_snr", "drop<=0.5", "10m"),
    ("ppocrv3_det", "a8w8", "hmean", "drop<=0.01", "10m"),
    ("mobilenet_v1_075_224", "a8w8", "top1", "drop<=1.5%", "10m"),
    ("mobilenet_v1_075_224", "xint8", "top1", "drop<=1.5%", "10m"),
    ("vit_tiny_224", "a8w8", "top1", "drop<=1.5%", "10m"),
    ("vit_tiny_224", "xint8", "top1", "drop<=1.5%", "10m"),
    ("yolov5n_640", "a8w8", "map", "drop<=1.5%", "10m"),
    ("yolov5n_640", "xint8", "map", "drop<=1.5%", "10m"),
    ("ppocrv4_det", "a8w8", "hmean", "drop<=0.015", "10m"),
    ("ppocrv4_det", "xint8", "hmean", "drop<=0.015", "10m"),
    ("ppocrv4_rec", "a8w8", "exact", "drop<=0.015", "10m"),
    ("ppocrv4_rec", "xint8", "exact", "drop<=0.015", "10m"),
]


def measured(network, preset, measure, goal, limit):
    program = os.environ.get("QUARKQ", os.path.join(ROOT, "build", "release", "quarkq"))
    with tempfile.TemporaryDirectory() as folder:
        judge = judged_by(network, measure, folder)
        calib = calibration(network, os.path.join(folder, "calib"))
        output = os.path.join(folder, "out.onnx")
        load = os.getloadavg()[0]
        start = time.monotonic()
        done = subprocess.run([program, "tune", model_of(network), "--config", preset, "--calib", calib, *judge, "--goal", goal, "--time", limit,
                               "-o", output, "--json", "--quiet"], capture_output=True, text=True, check=False)
        seconds = time.monotonic() - start
        if done.returncode not in (0, 5):
            raise RuntimeError(done.stderr)
        more = more_about(network, output)
    report = json.loads(done.stdout)
    best = report["trials"][report["best"]]
    return {"network": network, "preset": preset, "measure": measure, "goal": goal, "time": limit, "met": report["met"],
            "float": report["float_value"], "plain": report["trials"][0]["value"], "value": best["value"], "by": best["name"],
            "wide_macs": best["wide_macs"], "trials": len(report["trials"]), "seconds": round(seconds, 1),
            "load": round(load, 1), **more}


def record(rows):
    with open(RESULTS, "w", encoding="utf-8") as file:
        json.dump({"machine": f"{os.cpu_count()} x {platform.processor() or platform.machine()}",
                   "goals": [rows[goal[:3]] for goal in GOALS if goal[:3] in rows]}, file, indent=1)
        file.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    if not os.path.isdir(SHARED):
        print("skip tune: ../shared is not there")
        return 0
    recorded = {"goals": []}
    if os.path.exists(RESULTS):
        with open(RESULTS, encoding="utf-8") as file:
            recorded = json.load(file)
    rows = {(row["network"], row["preset"], row["measure"]): row for row in recorded["goals"]}
    for goal in GOALS:
        if not re.search(options.only, " ".join(goal)):
            continue
        row = measured(*goal)
        rows[goal[:3]] = row
        record(rows)
        print(f"{'ok' if row['met'] else 'FAIL'} tune.{row['network']}.{row['preset']}: {row['measure']} float {row['float']}, plain {row['plain']}, "
              f"{row['value']} by {row['by']} ({row['trials']} trials, {row['seconds']} s of {row['time']}; {row['goal']})", flush=True)
    return 0 if all(row["met"] for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
