#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What HardSigmoid costs a detector of SiLU in float, and what fitted slopes and gains bring back: gates.py [--check]

Prints the relative error of each head of YOLOv5n and the mAP, converted for x1 without quantization, with `quarkq.fit_gates` off and on. --check
fails unless the fit leaves at most 0.3 of the error in every head and the mAP is 29 or more (float 33.6, unfitted 26.2). Needs what targets.py needs.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx

from labelled import model_of
from run import TRAINED
from scored import NETWORKS
from targets import PROGRAM, interval, outputs_of, session, write_calibration

NAME = "yolov5n_640"
LEAST_MAP, MOST_ERROR = 29.0, 0.3


def converted(fit, calib, folder):
    """Path of the body; its tail is next to it."""
    body = os.path.join(folder, f"{fit}.onnx")
    subprocess.run([PROGRAM, "optimize", model_of(NAME), "--config", "XINT8", "--target", "x1", "--calib", calib, "-o", body,
                    "--set", f"quarkq.fit_gates={fit}", "--quiet"], check=True)
    if fit == "false":  # then the plan converts, which is not float
        model = onnx.load(body)
        for node in model.graph.node:
            if node.op_type == "Sigmoid":
                node.op_type = "HardSigmoid"
                node.attribute.extend([onnx.helper.make_attribute("alpha", 1 / 6), onnx.helper.make_attribute("beta", 0.5)])
        onnx.save(model, body)
    return body


def results_of_pair(body, samples):
    first, tail = session(body), session(body.replace(".onnx", "_tail.onnx"))
    names = [one.name for one in first.get_outputs()]
    for sample in samples:
        yield tail.run(None, dict(zip(names, first.run(None, {first.get_inputs()[0].name: sample.feed[""]}))))


def heads(body, samples, folder):
    """Results of the float network at the outputs of the body."""
    names = [one.name for one in session(body).get_outputs()]
    model = onnx.load(model_of(NAME))
    del model.graph.output[:]
    model.graph.output.extend(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names)
    path = os.path.join(folder, "heads.onnx")
    onnx.save(model, path)
    return list(outputs_of(path, samples))


def errors(body, samples, exact):
    """Energy of the error relative to that of the signal, for each head."""
    pairs = list(zip(outputs_of(body, samples), exact))
    return [sum(float(((a[k] - b[k]) ** 2).sum()) for a, b in pairs) / sum(float((b[k] ** 2).sum()) for _, b in pairs) for k in range(len(exact[0]))]


def main():
    if not os.path.isdir(TRAINED):
        print("skip gates: ../shared/trained is not there")
        return 0
    network = NETWORKS[NAME]()
    samples = list(network.samples())
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        calib = os.path.join(folder, "calib")
        write_calibration(network, model_of(NAME), calib)
        for fit in ("false", "true"):
            body = converted(fit, calib, folder)
            exact = heads(body, samples[:16], folder)
            records = [network.record(outputs, sample.truth, None) for outputs, sample in zip(results_of_pair(body, samples), samples)]
            found[fit] = np.array(errors(body, samples[:16], exact)), network.score(records)
            print(f"fit_gates={fit}: error of the heads {' '.join(f'{one:.4f}' for one in found[fit][0])}, mAP {found[fit][1]:.1f} {interval(records, network.score)}", flush=True)
    is_good = bool((found["true"][0] <= MOST_ERROR * found["false"][0]).all()) and found["true"][1] >= LEAST_MAP
    print("ok gates" if is_good else "FAIL gates: the fit leaves more error than it may")
    return 0 if is_good or "--check" not in sys.argv else 1


if __name__ == "__main__":
    sys.exit(main())
