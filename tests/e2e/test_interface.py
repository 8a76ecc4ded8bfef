# SPDX-License-Identifier: MIT
"""Inputs and outputs of a result: names, order and element types are those of the float model unless a setting changes them."""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import expect, expect_equal, quarkq, temp_folder, test
from reference import session

PRESETS = ("a8w8", "xint8", "vint8", "a16w8", "bf16", "bfp16", "fp16", "u8s8_aaws", "int8_cnn_default", "mx9")
SHAPE = [1, 3, 8, 8]


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def save(folder, nodes, inputs, outputs, kind=np.float32, opset=17):
    rng = np.random.default_rng(1)
    stored = [numpy_helper.from_array((rng.standard_normal((4, 3, 3, 3)) * 0.3).astype(kind), "w"), numpy_helper.from_array(rng.standard_normal(4).astype(kind), "b")]
    path = os.path.join(folder, "m.onnx")
    graph = helper.make_graph(nodes, "g", inputs, outputs, stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    for one in inputs:
        place = os.path.join(folder, "in", one.name) if len(inputs) > 1 else os.path.join(folder, "in")
        os.makedirs(place)
        for i in range(4):
            np.save(os.path.join(place, f"{i}.npy"), rng.standard_normal(SHAPE).astype(kind))
    return path


def conv(x, y):
    return helper.make_node("Conv", [x, "w", "b"], [y], name="conv_" + y, kernel_shape=[3, 3])


def interface(path):
    graph = onnx.load(path).graph
    return [[(one.name, one.type.tensor_type.elem_type) for one in ones] for ones in (graph.input, graph.output)]


def quantized(folder, model, preset, *more):
    path = os.path.join(folder, f"{preset}.onnx")
    result = quarkq("quantize", "--config", preset, "--calib", os.path.join(folder, "in"), "-o", path, *more, model)
    return path, result


@test(cases=PRESETS)
def an_input_that_is_an_output_keeps_its_name(preset):
    with temp_folder() as folder:
        model = save(folder, [conv("x", "c"), helper.make_node("Relu", ["c"], ["y"], name="relu")], [value("x", SHAPE)],
                     [value("x", SHAPE), value("c", [1, 4, 6, 6]), value("y", [1, 4, 6, 6])])
        path, _ = quantized(folder, model, preset)
        expect_equal(interface(path), interface(model), "inputs and outputs")
        if preset in ("a8w8", "u8s8_aaws"):
            x = np.load(os.path.join(folder, "in", "0.npy"))
            expect(np.array_equal(session(path).run(["x"], {"x": x})[0], x), "the output x is the input itself")
            readers = [node.op_type for node in onnx.load(path).graph.node if "x" in node.input]
            expect_equal(readers, ["QuantizeLinear"], "readers of x")


@test(cases=["a8w8", "xint8", "bf16"])
def inputs_without_readers_and_in_any_order_stay(preset):
    with temp_folder() as folder:
        nodes = [conv("b_in", "v"), helper.make_node("Add", ["a_in", "b_in"], ["sum"], name="add"), helper.make_node("Identity", ["a_in"], ["same"], name="id")]
        model = save(folder, nodes, [value("unused", SHAPE), value("b_in", SHAPE), value("a_in", SHAPE)],
                     [value("same", SHAPE), value("b_in", SHAPE), value("sum", SHAPE), value("unused", SHAPE), value("v", [1, 4, 6, 6])])
        path, _ = quantized(folder, model, preset)
        expect_equal(interface(path), interface(model), "inputs and outputs")


@test()
def a_changed_type_or_layout_is_named():
    with temp_folder() as folder:
        model = save(folder, [conv("x", "y")], [value("x", SHAPE, TensorProto.FLOAT16)], [value("y", [1, 4, 6, 6], TensorProto.FLOAT16)], np.float16)
        _, result = quantized(folder, model, "a8w8", "--set", "ConvertFP16ToFP32=true")
        expect("x is FLOAT [1, 3, 8, 8] instead of FLOAT16 [1, 3, 8, 8]; y is FLOAT" in result.stderr and "[interface-changed]" in result.stderr, result.stderr)
        _, result = quantized(folder, model, "xint8", "--set", "ConvertFP16ToFP32=true", "--set", "ConvertNCHWToNHWC=true")
        expect("x is FLOAT [1, 8, 8, 3] instead of FLOAT16 [1, 3, 8, 8]" in result.stderr, result.stderr)


@test()
def an_unchanged_interface_gives_no_line():
    with temp_folder() as folder:
        model = save(folder, [conv("x", "y")], [value("x", SHAPE)], [value("y", [1, 4, 6, 6])])
        _, result = quantized(folder, model, "a8w8")
        expect("interface-changed" not in result.stderr, result.stderr)
