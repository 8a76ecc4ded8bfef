# SPDX-License-Identifier: MIT
"""quarkq check: limits of the NPU in written models."""
import json
import os

import numpy as np
import onnx
from onnx import numpy_helper

from harness import expect, expect_equal, quarkq, run, temp_folder, test
from reference import conv_model, save_samples


def quantized(folder, *options):
    """A small model as XINT8: its path."""
    model, out = os.path.join(folder, "net.onnx"), os.path.join(folder, "out.onnx")
    onnx.save(conv_model(), model)
    quarkq("quantize", model, "--config", "xint8", "--calib", save_samples(os.path.join(folder, "calib")), "-o", out, *options)
    return out


def spoil(path, scale_of, factor):
    """Multiplies the scale that a DequantizeLinear reading `scale_of` has."""
    model = onnx.load(path)
    node = next(n for n in model.graph.node if n.op_type == "DequantizeLinear" and scale_of(model, n))
    scale = next(i for i in model.graph.initializer if i.name == node.input[1])
    scale.CopyFrom(numpy_helper.from_array(np.asarray(numpy_helper.to_array(scale) * factor, np.float32), scale.name))
    onnx.save(model, path)


def is_weight(model, node):
    stored = {i.name: i for i in model.graph.initializer}
    return node.input[0] in stored and len(stored[node.input[0]].dims) == 4


@test()
def what_quantize_writes_keeps_the_limits():
    with temp_folder() as folder:
        out = quantized(folder)
        expect("keeps all limits of xint8" in quarkq("check", out).stdout, "no word that the limits hold")


@test()
def a_shift_out_of_its_limits_is_named():
    with temp_folder() as folder:
        out, report = quantized(folder), os.path.join(folder, "report.json")
        spoil(out, is_weight, 2.0 ** -30)
        result = run("check", out, "--json", report)
        expect_equal(result.returncode, 6, "exit code")
        expect("adjust_shift_cut" in result.stdout and "allowed is 0 to 16" in result.stdout, f"printed {result.stdout!r}")
        with open(report) as file:
            found = json.load(file)
        expect_equal(list(found), ["quarkq", "model", "target", "nodes", "quantized_tensors", "violations", "deployable"], "keys")
        cut = next(row for row in found["violations"] if row["rule"] == "adjust_shift_cut")
        expect_equal(cut["allowed"], [0, 16], "allowed")
        expect(cut["found"] > 16 and cut["remedy"] and cut["tensor"], f"violation {cut}")


@test()
def a_scale_that_is_no_power_of_two_is_named():
    with temp_folder() as folder:
        out = quantized(folder)
        spoil(out, is_weight, 1.25)
        result = run("check", out)
        expect_equal(result.returncode, 6, "exit code")
        expect("power_of_two" in result.stdout, f"printed {result.stdout!r}")


@test()
def float_models_and_other_targets_are_refused():
    with temp_folder() as folder:
        model = os.path.join(folder, "net.onnx")
        onnx.save(conv_model(), model)
        expect_equal(run("check", model).returncode, 2, "exit code for a float model")
        result = run("check", model, "--target", "xint16")
        expect_equal(result.returncode, 2, "exit code for another target")
        expect("xint8" in result.stderr, f"no suggestion in {result.stderr!r}")
