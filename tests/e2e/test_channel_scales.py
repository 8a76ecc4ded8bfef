# SPDX-License-Identifier: MIT
"""Scales per channel fit their tensors: biases of every shape, grouped ConvTranspose, tables with several readers, constants behind
Reshape and similar operators. Each result runs in ONNX Runtime, close to the float model."""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import expect, expect_equal, quarkq, temp_folder, test
from reference import cosine, session

PRESETS = ("a8w8", "u8s8_aaws", "int8_cnn_default", "a16w8")
AS_WRITTEN = ("--set", "SkipPreprocess=true")  # nodes that read only constants stay
LEAST_COSINE = 0.99


class Network:
    def __init__(self, dims, opset=17):
        self.rng = np.random.default_rng(5)
        self.opset, self.dims = opset, dims
        self.nodes, self.stored, self.outputs = [], [], []

    def constant(self, name, array, kind=np.float32):
        self.stored.append(numpy_helper.from_array(np.asarray(array, kind), name))
        return name

    def weight(self, name, *shape):
        return self.constant(name, self.rng.standard_normal(shape) * 0.3)

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name="node_" + output, **attributes))
        return output

    def save(self, folder, output, dims):
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.dims)]
        graph = helper.make_graph(self.nodes, "g", inputs, [helper.make_tensor_value_info(output, TensorProto.FLOAT, dims)], self.stored)
        path = os.path.join(folder, "m.onnx")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8), path)
        os.makedirs(os.path.join(folder, "in"), exist_ok=True)
        for i in range(4):
            np.save(os.path.join(folder, "in", f"{i}.npy"), self.rng.standard_normal(self.dims).astype(np.float32))
        return path


def expect_close(folder, model, preset, *more, per_channel=True):
    """Quantizes and compares in ONNX Runtime; returns the written model and the messages."""
    written = os.path.join(folder, "q.onnx")
    channels = ["--set", "per_channel=true"] if per_channel else []
    result = quarkq("quantize", "--config", preset, "--calib", os.path.join(folder, "in"), "-o", written, *channels, *more, model)
    x = {"x": np.load(os.path.join(folder, "in", "0.npy"))}
    found = cosine(session(written).run(None, x)[0], session(model).run(None, x)[0])
    expect(found >= LEAST_COSINE, f"{preset} {more}: cosine {found:.4f}")
    return onnx.load(written), result.stderr


def stored(model, name):
    return numpy_helper.to_array(next(one for one in model.graph.initializer if one.name == name))


@test(cases=PRESETS)
def a_grouped_conv_transpose_repeats_its_scales(preset):
    for group in (1, 2, 4):
        n = Network([1, 4, 8, 8])
        n.node("ConvTranspose", ["x", n.weight("w", 4, 8 // group, 2, 2), n.weight("b", 8)], "y", group=group, kernel_shape=[2, 2], strides=[2, 2])
        with temp_folder() as folder:
            model, _ = expect_close(folder, n.save(folder, "y", [1, 8, 16, 16]), preset)
            weights = stored(model, "w_scale")
            expect_equal(weights.shape, (8 // group,), "scales of the weight")
            wanted = np.tile(stored(model, "x_scale") * weights, group)
            expect(np.allclose(stored(model, "b_quantized_scale"), wanted, rtol=1e-6), f"group {group}: scales of the bias")


@test(cases=[(f"{list(shape)} transB {transposed}", shape, transposed) for shape in ((5,), (1, 5), (1,), (), (3, 5), (3, 1)) for transposed in (0, 1)])
def biases_of_gemm_have_scales_or_stay_float(case):
    _, shape, transposed = case
    n = Network([3, 6])
    n.node("Gemm", ["x", n.weight("w", *((5, 6) if transposed else (6, 5))), n.weight("b", *shape)], "y", transB=transposed)
    is_float = shape not in ((5,), (1, 5))
    for preset in PRESETS:
        with temp_folder() as folder:
            model, messages = expect_close(folder, n.save(folder, "y", [3, 5]), preset)
            expect_equal("b" in [one.name for one in model.graph.initializer], is_float, f"{preset}: the bias is float")
            expect_equal("b: is the bias of node node_y (Gemm)" in messages and "[bias-without-scale]" in messages, is_float, f"{preset}: {messages}")


@test()
def scales_along_another_axis_leave_the_bias_float():
    n = Network([1, 3, 8, 8])
    n.node("Conv", ["x", n.weight("w", 4, 3, 3, 3), n.weight("b", 4)], "y", kernel_shape=[3, 3])
    with temp_folder() as folder:
        model = n.save(folder, "y", [1, 4, 6, 6])
        written, messages = expect_close(folder, model, "a8w8", "--set", "TensorQuantOverrides={w: [{axis: 1}]}", per_channel=False)
        expect("one for each of 3 along axis 1, do not fit it; the bias stays float" in messages, messages)
        expect_equal(stored(written, "w_scale").shape, (3,), "scales of the weight")
        written, messages = expect_close(folder, model, "a8w8", "--set", "TensorQuantOverrides={w: [{axis: 0}]}", per_channel=False)
        expect_equal((stored(written, "b_quantized_scale").shape, "bias-without-scale" in messages), ((4,), False), "scales of the bias")


@test(cases=PRESETS)
def a_weight_of_two_layers_with_other_axes(preset):
    n = Network([1, 4, 8, 8])
    n.node("Conv", ["x", n.weight("w", 4, 4, 2, 2), n.weight("b1", 4)], "c", kernel_shape=[2, 2])
    n.node("ConvTranspose", ["c", "w", n.weight("b2", 4)], "y", kernel_shape=[2, 2])
    with temp_folder() as folder:
        _, messages = expect_close(folder, n.save(folder, "y", [1, 4, 8, 8]), preset)
        expect("b1: is the bias" in messages and "b2: is the bias" not in messages, messages)


@test(cases=[(f"{preset} {op} axis {axis} transB {transposed}", preset, op, axis, transposed) for preset in PRESETS
             for op, axis, transposed in (("Gemm", 0, 1), ("Gemm", 1, 1), ("Gemm", 0, 0), ("MatMul", 0, 0), ("MatMul", 1, 0))])
def a_table_that_a_layer_shares(case):
    _, preset, op, axis, transposed = case
    n = Network([6, 6])
    n.node("Gather", [n.weight("w", 6, 6), n.constant("i", [3, 1, 2, 0, 5, 4], np.int64)], "e", axis=axis)
    n.node(op, ["x", "w"] + (["b"] if op == "Gemm" else []), "p", **({"transB": transposed} if op == "Gemm" else {}))
    if op == "Gemm":
        n.weight("b", 6)
    n.node("Mul", ["p", "e"], "y")
    with temp_folder() as folder:
        expect_close(folder, n.save(folder, "y", [6, 6]), preset, *AS_WRITTEN)


MOVES = {"Reshape": ([("s", [4, 3, 9])], {}, [4, 3, 9]), "Transpose": ([], {"perm": [1, 0, 2, 3]}, [3, 4, 3, 3]), "Unsqueeze": ([("s", [0])], {}, [1, 4, 3, 3, 3]),
         "Slice": ([("s", [1]), ("e", [3])], {}, [2, 3, 3, 3]), "Identity": ([], {}, [4, 3, 3, 3])}


@test(cases=[(f"{preset} {op}", preset, op) for preset in PRESETS for op in MOVES])
def a_weight_behind_an_operator_that_moves_it(case):
    """The operator's result has a scale of its own, not those of the channels of the weight."""
    _, preset, op = case
    more, attributes, _ = MOVES[op]
    n = Network([1, 3, 8, 8])
    n.node("Conv", ["x", n.weight("w", 4, 3, 3, 3), n.weight("b", 4)], "c", kernel_shape=[3, 3])
    n.node(op, ["w"] + [n.constant(name, value, np.int64) for name, value in more], "moved", **attributes)
    n.node("Reshape", ["b", n.constant("bs", [1, 4, 1, 1], np.int64)], "moved_bias")
    n.node("ReduceMax", ["moved"], "most", keepdims=0)
    n.node("Add", ["c", "most"], "sum")
    n.node("Add", ["sum", "moved_bias"], "y")
    with temp_folder() as folder:
        expect_close(folder, n.save(folder, "y", [1, 4, 6, 6]), preset, *AS_WRITTEN)
