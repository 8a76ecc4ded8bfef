# SPDX-License-Identifier: MIT
"""Finetuning of whole blocks: any number of threads and a resumed run give the same bytes, outputs never get worse."""
import json
import os
import signal
import subprocess
import time

from finetune_runs import command, report_of_same_bytes
from harness import QUARKQ, expect, expect_equal, quarkq, temp_folder, test
from reference import expect_same_file

UNITS = 5  # stem, three residual blocks, classifier
STEPS = 40


@test(cases=["XINT8_BLOCK", "A8W8_BLOCK"])
def threads_do_not_show(preset):
    with temp_folder() as folder:
        found = report_of_same_bytes(preset, STEPS, folder)
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
        quarkq(*command("XINT8_BLOCK", STEPS, whole))
        process = subprocess.Popen([QUARKQ, *command("XINT8_BLOCK", STEPS, out)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        second = os.path.join(out + ".finetune", "layer1.bin")
        while not os.path.exists(second) and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        quarkq(*command("XINT8_BLOCK", STEPS, out, "--report", report))
        expect_same_file(whole, out, "resumed and undisturbed result")
        with open(report, encoding="utf-8") as file:
            resumed = [unit["resumed"] for unit in json.load(file)["tuned_layers"]]
    expect(resumed[0] and resumed[1], f"units taken from the killed run: {resumed}")
