#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""quarkq tune on labelled networks: is the goal met within the time, from a cold start, with one command?

    tune.py [--only REGEX]

Writes tests/accuracy/tune_results.json and prints a line per goal. Needs ../shared, and numpy and pillow; QUARKQ names the program. Idle
cores are assumed. No sample that is scored is calibrated with.
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

from run import ROOT, SHARED

RESULTS = os.path.join(ROOT, "tests", "accuracy", "tune_results.json")
SCRIPT = os.path.join(ROOT, "tests", "accuracy", "score_results.py")
# Network, preset, measure of score_labelled.py (or a metric of quarkq against the float model), goal, time.
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
]
COMPARISONS = ("cosine", "sqnr")
LOWER = ("bits_per_character",)


def judged_by(network, measure, folder):
    """Options that say what trials are judged by."""
    golden = os.path.join(SHARED, "golden", "inputs", network)
    if measure in COMPARISONS:
        return ["--eval", os.path.join(golden, "eval"), "--metric", measure]
    inputs = os.path.join(folder, "eval")
    subprocess.run([sys.executable, os.path.join(SHARED, "tools", "score_labelled.py"), network, "--export", inputs], check=True)
    command = f"'{sys.executable}' '{SCRIPT}' {network} {measure} {{results}}"
    return ["--eval", inputs, "--metric-cmd", command, *(["--lower-is-better"] if measure in LOWER else [])]


def measured(network, preset, measure, goal, limit):
    program = os.environ.get("QUARKQ", os.path.join(ROOT, "build", "release", "quarkq"))
    with tempfile.TemporaryDirectory() as folder:
        judge = judged_by(network, measure, folder)
        start = time.monotonic()
        done = subprocess.run([program, "tune", os.path.join(SHARED, "models", network + ".onnx"), "--config", preset, "--calib",
                               os.path.join(SHARED, "golden", "inputs", network, "calib"), *judge, "--goal", goal, "--time", limit,
                               "-o", os.path.join(folder, "out.onnx"), "--json", "--quiet"], capture_output=True, text=True, check=False)
        seconds = time.monotonic() - start
    if done.returncode not in (0, 5):
        raise RuntimeError(done.stderr)
    report = json.loads(done.stdout)
    best = report["trials"][report["best"]]
    return {"network": network, "preset": preset, "measure": measure, "goal": goal, "time": limit, "met": report["met"],
            "float": report["float_value"], "plain": report["trials"][0]["value"], "value": best["value"], "by": best["name"],
            "wide_macs": best["wide_macs"], "trials": len(report["trials"]), "seconds": round(seconds, 1)}


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
        print(f"{'ok' if row['met'] else 'FAIL'} tune.{row['network']}.{row['preset']}: {row['measure']} float {row['float']}, plain {row['plain']}, "
              f"{row['value']} by {row['by']} ({row['trials']} trials, {row['seconds']} s of {row['time']}; {row['goal']})", flush=True)
    with open(RESULTS, "w", encoding="utf-8") as file:
        json.dump({"machine": f"{os.cpu_count()} x {platform.processor() or platform.machine()}",
                   "goals": [rows[goal[:3]] for goal in GOALS if goal[:3] in rows]}, file, indent=1)
        file.write("\n")
    return 0 if all(row["met"] for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
