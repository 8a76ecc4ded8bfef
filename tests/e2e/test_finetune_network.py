# SPDX-License-Identifier: MIT
"""Finetuning of the whole network: any number of threads and resumed runs give the same bytes, and a state is kept only with less error on held-back samples."""
import os
import random
import signal
import subprocess
import time

from finetune_runs import command, report_of_same_bytes
from harness import QUARKQ, expect, expect_equal, quarkq, temp_folder, test
from reference import expect_same_file



STEPS = 120


@test(cases=["XINT8_NETWORK", "A8W8_NETWORK", "VINT8_NETWORK"])
def threads_do_not_show(preset):
    with temp_folder() as folder:
        found = report_of_same_bytes(preset, STEPS, folder)
    expect_equal(len(found["tuned_layers"]), 1, "units")
    unit, outputs = found["tuned_layers"][0], found["tuned_outputs"]
    expect(unit["error_after"] < unit["error_before"] if unit["kept"] else unit["error_after"] == unit["error_before"], f"kept although worse: {unit}")
    expect(unit["kept"] or outputs["cosine_after"] == outputs["cosine_before"], f"changed although not kept: {outputs}")
    return f"{outputs}"


@test()
def killed_runs_are_resumed():
    """Kills at random moments: what is left is always a state from which the rest gives the same bytes."""
    drawn = random.Random(5)
    with temp_folder() as folder:
        whole, out = (os.path.join(folder, name) for name in ("whole.onnx", "out.onnx"))
        start = time.monotonic()
        quarkq(*command("XINT8_NETWORK", STEPS, whole))
        seconds = time.monotonic() - start
        for _ in range(4):
            process = subprocess.Popen([QUARKQ, *command("XINT8_NETWORK", STEPS, out)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            time.sleep(drawn.uniform(0.2, 0.9) * seconds)
            process.send_signal(signal.SIGKILL)
            process.wait()
        quarkq(*command("XINT8_NETWORK", STEPS, out))
        expect_same_file(whole, out, "resumed and undisturbed result")
        expect(not os.path.exists(out + ".finetune"), "the state is still there")
