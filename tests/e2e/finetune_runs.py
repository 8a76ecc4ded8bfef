# SPDX-License-Identifier: MIT
"""Runs of quantize with fine-tuning on a small shared network, for tests of its units."""
import json
import os

from harness import quarkq, shared
from reference import check_model, expect_same_file

NAME = "resnet8_cifar10"


def command(preset, steps, output, *more):
    return ["quantize", "--config", preset, "--calib", shared("golden", "inputs", NAME, "calib"), "--no-verify",
            "--set", f"FastFinetune.NumIterations={steps}", "-o", output, *more, shared("models", NAME + ".onnx")]


def report_of_same_bytes(preset, steps, folder):
    """The report of a run with two threads, whose result has the bytes of a run with one."""
    one, two, report = (os.path.join(folder, name) for name in ("one.onnx", "two.onnx", "report.json"))
    quarkq(*command(preset, steps, one, "--threads", "1"))
    quarkq(*command(preset, steps, two, "--threads", "2", "--report", report))
    expect_same_file(one, two, "result with one and with two threads")
    check_model(two)
    with open(report, encoding="utf-8") as file:
        return json.load(file)
