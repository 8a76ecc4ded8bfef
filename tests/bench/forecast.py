#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `quarkq quantize --dry-run` predicts of size, memory and time, against the run itself, on shared models and 128 photos.

    forecast.py [--quarkq BIN] [--config XINT8 A8W8] [--rounds N] [--output FILE.json] [--models NAME...]

The run is without a rescue (--on-collapse warn), which the dry run does not predict; its time with one is printed beside. Times are
medians of interleaved rounds, wall clock of the process; run it on an idle machine. Targets: size within 2 %, memory and time within
25 %.
Needs: the shared models and photos beside the repository.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.path.join(os.path.dirname(ROOT), "shared")
# How photos become what each model takes (../shared/models/README.md).
RECIPES = {
    "efficientnet_lite0_224": "{resize: {mode: stretch}, mean: 127, std: 128}",
    "squeezenet1_1": "{color: BGR, resize: {mode: shorter_side, size: 256}, crop: 224, mean: [104, 117, 123]}",
    "mobilenetv1_025_vww_96": "{resize: {mode: stretch}, scale: 1/255}",
    "nanodet_m_416": "{color: BGR, resize: {mode: stretch}, mean: [103.53, 116.28, 123.675], std: [57.375, 57.12, 58.395]}",
    "deeplabv3_mnv2_voc_257": "{resize: {mode: stretch}, mean: 127.5, std: 127.5}",
    "fastestdet_352": "{color: BGR, resize: {mode: stretch}, scale: 1/255}",
}


def measured(command):
    """(seconds, peak bytes, stdout) of a process of its own."""
    with tempfile.TemporaryFile("w+") as out:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
        out.seek(0)
        return seconds, usage.ru_maxrss * 1024, out.read()


def one(args, model, config, folder):
    out = os.path.join(folder, "out.onnx")
    command = [args.quarkq, "quantize", os.path.join(SHARED, "models", model + ".onnx"), "--config", config, "--calib",
               os.path.join(SHARED, "data", "calib"), "--set", "preprocess=" + RECIPES[model], "-o", out, "--json"]
    predicted, plain, rescued = [], [], []
    for _ in range(args.rounds):
        predicted.append(measured(command + ["--dry-run"]))
        plain.append(measured(command + ["--on-collapse", "warn"]))
        rescued.append(measured(command))
    forecast, report = json.loads(predicted[-1][2]), json.loads(plain[-1][2])
    seconds = statistics.median(run[0] for run in plain)
    return {"model": model, "config": config, "dry_run_seconds": statistics.median(run[0] for run in predicted),
            "seconds": {"predicted": statistics.median(json.loads(run[2])["seconds"] for run in predicted), "measured": seconds,
                        "with_rescue": statistics.median(run[0] for run in rescued)},
            "bytes": {"predicted": forecast["bytes"]["output"], "measured": report["bytes"]["output"]},
            "memory": {"predicted": statistics.median(json.loads(run[2])["memory_bytes"] for run in predicted), "measured": statistics.median(run[1] for run in plain)}}


def off(row, key):
    return 100 * (row[key]["predicted"] / row[key]["measured"] - 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quarkq", default=os.path.join(ROOT, "build/release/quarkq"))
    parser.add_argument("--config", nargs="*", default=["XINT8", "A8W8"])
    parser.add_argument("--models", nargs="*", default=list(RECIPES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output")
    args = parser.parse_args()
    rows, load = [], os.getloadavg()
    print(f"{'model':24} {'config':6} {'size':>8} {'memory':>8} {'time':>8} {'run s':>7} {'rescue s':>8} {'dry s':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for model in args.models:
            for config in args.config:
                row = one(args, model, config, folder)
                rows.append(row)
                print(f"{model:24} {config:6} {off(row, 'bytes'):+7.2f}% {off(row, 'memory'):+7.1f}% {off(row, 'seconds'):+7.1f}% "
                      f"{row['seconds']['measured']:7.2f} {row['seconds']['with_rescue']:8.2f} {row['dry_run_seconds']:6.2f}", flush=True)
    print(f"load {load[0]:.1f} before, {os.getloadavg()[0]:.1f} after")
    if args.output:
        with open(args.output, "w") as file:
            json.dump({"system": platform.platform(), "cores": os.cpu_count(), "load": [load, os.getloadavg()], "rows": rows}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
