# SPDX-License-Identifier: MIT
"""Finetuning of whole blocks: any number of threads and a resumed run give the same bytes, outputs never get worse."""
import json
import os
import signal
import subprocess
import time

from harness import QUARKQ, expect, expect_equal, quarkq, shared, temp_folder, test
from reference import check_model, expect_same_file

NAME = "resnet8_cifar10"
UNITS = 5  # stem, three residual blocks, classifier


def command(preset, output, *more):
    return ["quantize", "--config", preset, "--calib", shared("golden", "inputs", NAME, "calib"), "--no-verify",
            "--set", "FastFinetune.NumIterations=40", "-o", output, *more, shared("models", NAME + ".onnx")]


@test(cases=["XINT8_BLOCK", "A8W8_BLOCK"])
def threads_do_not_show(preset):
    with temp_folder() as folder:
        one, two, report = (os.path.join(folder, name) for name in ("one.onnx", "two.onnx", "report.json"))
        quarkq(*command(preset, one, "--threads", "1"))
        quarkq(*command(preset, two, "--threads", "2", "--report", report))
        expect_same_file(one, two, "result with one and with two threads")
        check_model(two)
        with open(report, encoding="utf-8") as file:
            found = json.load(file)
    expect_equal(len(found["tuned_layers"]), UNITS, "units")
    expect("(3 layers)" in found["tuned_layers"][2]["node"], f"the second residual block is {found['tuned_layers'][2]['node']}")
    outputs = found["tuned_outputs"]
    expect(outputs["cosine_after"] >= outputs["cosine_before"], f"outputs got worse: {outputs}")
    for unit in found["tuned_layers"]:
        expect(not unit["kept"] or unit["error_after"] < unit["error_before"], f"kept although worse: {unit}")
    return f"{outputs}"


@test()
def a_killed_run_is_resumed():
    with temp_folder() as folder:
        whole, out, report = (os.path.join(folder, name) for name in ("whole.onnx", "out.onnx", "report.json"))
        quarkq(*command("XINT8_BLOCK", whole))
        process = subprocess.Popen([QUARKQ, *command("XINT8_BLOCK", out)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        second = os.path.join(out + ".finetune", "layer1.bin")
        while not os.path.exists(second) and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        quarkq(*command("XINT8_BLOCK", out, "--report", report))
        expect_same_file(whole, out, "resumed and undisturbed result")
        with open(report, encoding="utf-8") as file:
            resumed = [unit["resumed"] for unit in json.load(file)["tuned_layers"]]
    expect(resumed[0] and resumed[1], f"units taken from the killed run: {resumed}")
