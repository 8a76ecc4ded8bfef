# SPDX-License-Identifier: MIT
"""Q and DQ nodes without a zero point: it is 0 in the type of the codes, which opset 21 may give in output_dtype. Every verb that reads
written models sees the same."""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import expect, expect_equal, quarkq, temp_folder, test
from reference import session

TYPES = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8, "int16": TensorProto.INT16, "uint16": TensorProto.UINT16}


def model(folder, activation, weight, opset=21, explicit=False):
    """MatMul of an activation and stored codes; only `explicit` zero points are written."""
    rng = np.random.default_rng(4)
    low, high = np.iinfo(weight).min, np.iinfo(weight).max
    stored = [numpy_helper.from_array(np.float32(8 / np.iinfo(activation).max), "sx"), numpy_helper.from_array(np.float32(1 / high), "sw"),
              numpy_helper.from_array(rng.integers(low, high, (16, 6), endpoint=True).astype(weight), "codes")]
    zero = ["zx"] if explicit else []
    if explicit:
        stored.append(numpy_helper.from_array(np.zeros((), activation), "zx"))
    nodes = [helper.make_node("QuantizeLinear", ["x", "sx", *zero], ["q"], name="q", **({} if explicit else {"output_dtype": TYPES[activation]})),
             helper.make_node("DequantizeLinear", ["q", "sx", *zero], ["d"], name="dq"), helper.make_node("DequantizeLinear", ["codes", "sw"], ["w"], name="wdq"),
             helper.make_node("MatMul", ["d", "w"], ["m"], name="mm"),
             helper.make_node("QuantizeLinear", ["m", "sx", *zero], ["mq"], name="q2", **({} if explicit else {"output_dtype": TYPES[activation]})),
             helper.make_node("DequantizeLinear", ["mq", "sx", *zero], ["y"], name="dq2")]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in (("x", [2, 16]), ("y", [2, 6]))]
    path = os.path.join(folder, "m.onnx")
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10 if opset > 20 else 8), path)
    x = np.abs(rng.standard_normal((2, 16))).astype(np.float32) * (1 if activation.startswith("u") else np.sign(rng.standard_normal((2, 16))).astype(np.float32))
    return path, x


def results(path, x):
    return session(path, optimize=False).run(None, {"x": x})[0]


def expect_same(path, written, x, steps, what):
    wanted, found = results(path, x), results(written, x)
    off = np.abs(found - wanted).max()
    expect(off <= steps + 1e-6, f"{what}: results differ by {off}")


@test(cases=[(f"{activation} {weight}", activation, weight) for activation in TYPES for weight in TYPES])
def import_reads_the_type(case):
    _, activation, weight = case
    with temp_folder() as folder:
        path, x = model(folder, activation, weight)
        written = os.path.join(folder, "q.onnx")
        quarkq("import", path, "--target", "ort-cpu", "-o", written)
        expect_same(path, written, x, 0, f"{activation} {weight}")
        graph = onnx.load(written).graph
        types = {one.name: one.data_type for one in graph.initializer}
        zeros = [types[node.input[2]] for node in graph.node if node.op_type == "QuantizeLinear" and len(node.input) > 2]
        expect(zeros and set(zeros) == {TYPES[activation]}, f"types of zero points {zeros}")


@test(cases=[(f"{activation} {weight}", activation, weight) for activation, weight in (("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8"))])
def operators_on_integers_get_zero_points_of_the_codes(case):
    _, activation, weight = case
    with temp_folder() as folder:
        for opset, explicit in ((17, True), (21, False)):
            path, x = model(folder, activation, weight, opset, explicit)
            written = os.path.join(folder, "q.onnx")
            quarkq("convert", path, written, "--pass", "qdq-to-qoperator")
            graph = onnx.load(written).graph
            expect("QLinearMatMul" in [node.op_type for node in graph.node], "an operator on integers")
            expect_same(path, written, x, 8 / np.iinfo(activation).max, f"{activation} {weight} opset {opset}")


@test(cases=["u16u8-to-u8u8", "s8s8-to-u8s8", "u8s8-to-s8s8", "u16s8-to-s16s8", "s16s8-to-u16s8", "custom-qdq-to-qdq", "dequantize", "remove-qdq"])
def conversions_read_the_type(name):
    activation = {"u": "uint", "s": "int"}.get(name[0], "int") + ("16" if name[1:3] == "16" else "8") if "8-to" in name else "int16"
    with temp_folder() as folder:
        path, x = model(folder, activation, "uint8" if name.startswith("u16") else "int8")
        written = os.path.join(folder, "c.onnx")
        quarkq("convert", path, written, "--pass", name)
        steps = 8 / 127 * 4 if name in ("u16u8-to-u8u8", "dequantize", "remove-qdq") else 8 / np.iinfo(activation).max
        expect_same(path, written, x, steps, name)
        expect_equal([one.type.tensor_type.elem_type for one in onnx.load(written).graph.output], [TensorProto.FLOAT], "type of the output")
