# SPDX-License-Identifier: MIT
"""The bundled example: top-1 of float and quantized, as quickstart.sh computes it."""
import csv
import os
import re
import subprocess
import sys

import numpy as np

from harness import expect, expect_equal, quantize, quarkq, run_model, temp_folder, test
from reference import DIGITS, check_model, onnxruntime_results

MODEL = os.path.join(DIGITS, "digits.onnx")
EVAL = os.path.join(DIGITS, "eval", "inputs")
LABELS = os.path.join(DIGITS, "eval", "labels.csv")
MIN_FLOAT = 97.0
MAX_LOSS = 2.0  # points of top-1
EVALUATE_LINES = ["Mean cos similarity", "Min cos similarity", "Mean l2 distance", "Max l2 distance", "Mean psnr", "Min psnr",
                  "Mean ssim", "Min ssim"]


def top1(folder):
    script = os.path.join(DIGITS, "top1.py")
    text = subprocess.run([sys.executable, "-I", script, folder, LABELS], capture_output=True, text=True, check=True).stdout
    return float(re.match(r"([\d.]+) %", text).group(1))


@test()
def labels_fit_the_samples():
    with open(LABELS, encoding="ascii") as file:
        rows = list(csv.DictReader(file))
    expect_equal([row["file"] for row in rows], sorted(os.listdir(EVAL)), "files named in labels.csv")
    results = onnxruntime_results(MODEL, EVAL)
    right = sum(int(results[row["file"]]["logits"].argmax()) == int(row["label"]) for row in rows)
    expect(100 * right / len(rows) >= MIN_FLOAT, f"ONNX Runtime gets {right} of {len(rows)} right, at least {MIN_FLOAT} % expected")


@test()
def float_top1():
    with temp_folder() as folder:
        run_model(MODEL, EVAL, folder)
        found = top1(folder)
    expect(found >= MIN_FLOAT, f"float top-1 {found} %, at least {MIN_FLOAT} % expected")
    return f"{found} %"


@test(cases=["xint8", "a8w8"])
def quantized_top1(preset):
    with temp_folder() as folder:
        model, results, floats = (os.path.join(folder, name) for name in ("q.onnx", "q", "f"))
        quantize(MODEL, model, os.path.join(DIGITS, "calib"), preset)
        check_model(model)
        run_model(MODEL, EVAL, floats)
        run_model(model, EVAL, results)
        before, after = top1(floats), top1(results)
    expect(after >= before - MAX_LOSS, f"{preset} top-1 {after} %, float {before} %, at most {MAX_LOSS} points less expected")
    return f"float {before} %, {preset} {after} %"


@test()
def evaluate_prints_eight_lines():
    with temp_folder() as folder:
        model, results, floats = (os.path.join(folder, name) for name in ("q.onnx", "q", "f"))
        quantize(MODEL, model, os.path.join(DIGITS, "calib"), "xint8")
        run_model(MODEL, EVAL, floats)
        run_model(model, EVAL, results)
        printed = quarkq("evaluate", "--baseline_results_folder", floats, "--quantized_results_folder", results).stdout
        files = sorted(os.listdir(floats))
        a, b = ([np.load(os.path.join(side, file)).ravel() for file in files] for side in (floats, results))
    lines = printed.splitlines()[:8]
    expect_equal([line.split(": ")[0] for line in lines], EVALUATE_LINES, "lines of quarkq evaluate")
    found = {line.split(": ")[0]: float(line.split(": ")[1]) for line in lines}
    cosines = [float(x @ y / np.linalg.norm(x) / np.linalg.norm(y)) for x, y in zip(a, b)]
    distances = [float(np.linalg.norm(x - y)) for x, y in zip(a, b)]
    for name, wanted in (("Mean cos similarity", np.mean(cosines)), ("Min cos similarity", np.min(cosines)),
                         ("Mean l2 distance", np.mean(distances)), ("Max l2 distance", np.max(distances))):
        expect(abs(found[name] - wanted) <= 1e-5 * abs(wanted), f"{name}: found {found[name]}, numpy has {wanted}")
