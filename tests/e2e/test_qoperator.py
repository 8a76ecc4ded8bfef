# SPDX-License-Identifier: MIT
"""quant_format QOperator: operators on integers, whose outputs are those of the Q/DQ model with the same settings."""
import glob
import os

import numpy as np
import onnx
import onnxruntime

from harness import expect, expect_equal, quarkq, run, shared, temp_folder, test

RESNET = "resnet8_cifar10"
FORMAT = ("--set", "quant_format=QuantFormat.QOperator")


def quantized(folder, name, model, preset, *more):
    path = os.path.join(folder, name + ".onnx")
    result = quarkq("quantize", shared("models", model + ".onnx"), "--config", preset, "--calib", shared("golden", "inputs", model, "calib"), "-o", path, *more)
    onnx.checker.check_model(path, full_check=True)
    return path, result


def outputs(path, sample):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: sample})[0]


def step_of_output(path):
    """The scale of the last DequantizeLinear."""
    graph = onnx.load(path).graph
    last = next(node for node in graph.node if node.output[0] == graph.output[0].name)
    expect_equal(last.op_type, "DequantizeLinear", "the operator that writes the output")
    return float(onnx.numpy_helper.to_array(next(one for one in graph.initializer if one.name == last.input[1])))


@test(cases=["A8W8", "S8S8_AAWS", "U8S8_AAWS"])
def resnet_is_integer_throughout(preset):
    with temp_folder() as folder:
        pairs, _ = quantized(folder, "pairs", RESNET, preset, "--set", "ConvertOpsetVersion=17")
        integers, said = quantized(folder, "integers", RESNET, preset, *FORMAT, "--set", "ConvertOpsetVersion=17")
        ops = {node.op_type for node in onnx.load(integers).graph.node}
        floats = {"Conv", "Gemm", "MatMul", "Add", "Relu", "GlobalAveragePool", "AveragePool"} & ops
        expect_equal(floats, set(), f"operators on floats of {sorted(ops)}")
        expect("QLinearConv" in ops, sorted(ops))
        left = [line for line in said.stderr.splitlines() if "[left-between-pairs]" in line]
        expect(all("(Flatten)" in line for line in left), f"left between pairs: {left}")  # its pair has another scale than the pool before it
        step = step_of_output(integers)
        for path in sorted(glob.glob(shared("golden", "inputs", RESNET, "eval") + "/*.npy"))[:4]:
            sample = np.load(path)
            difference = np.abs(outputs(integers, sample) - outputs(pairs, sample)).max() / step
            expect(difference <= 1.001, f"{os.path.basename(path)}: outputs differ by {difference} steps")


@test()
def nodes_without_an_operator_on_integers_are_named():
    with temp_folder() as folder:
        path, said = quantized(folder, "integers", "vit_digits", "A8W8", *FORMAT, "--verbose")
        ops = {node.op_type for node in onnx.load(path).graph.node}
        expect("QGemm" in ops or "QLinearMatMul" in ops, sorted(ops))
        expect("left-between-pairs" in said.stderr and "LayerNormalization" in said.stderr, said.stderr[-2000:])


@test(cases=[("16 bits", ("--config", "A16W8"), 2, "activation_type: found"), ("compat", ("--config", "A8W8", "--compat", "quark-0.13"), 3, "supported without --compat")])
def refuses(case):
    _, arguments, code, text = case
    with temp_folder() as folder:
        out = os.path.join(folder, "q.onnx")
        refused = run("quantize", shared("models", RESNET + ".onnx"), *arguments, *FORMAT, "--calib", shared("golden", "inputs", RESNET, "calib"), "-o", out)
        expect_equal(refused.returncode, code, f"exit code, {refused.stderr}")
        expect(text in refused.stderr and not os.path.exists(out), refused.stderr)
