# SPDX-License-Identifier: MIT
"""Whether a difference of a whole graph is nothing but what its calls carry on: each of them alone, fed with what ONNX Runtime computed before
it, agrees, or differs for a reason (explained.py)."""
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper

import differences
import explained

CARRIED = "roundings carried on: each call alone agrees"
MOST = 2e-3  # of the largest value of an output, where no operator makes steps of roundings
STEPS = {"ArgMax", "ArgMin", "Cast", "CastLike", "Ceil", "Compress", "DequantizeLinear", "DynamicQuantizeLinear", "Equal", "Floor", "Greater", "GreaterOrEqual",
         "Hardmax", "Less", "LessOrEqual", "Mod", "NonMaxSuppression", "NonZero", "OneHot", "QuantizeLinear", "Round", "Shrink", "Sign", "ThresholdedRelu", "TopK",
         "Unique", "GridSample", "Not", "Where", "MatMulInteger", "ConvInteger", "QGemm", "QLinearConv", "QLinearMatMul", "QLinearAdd", "QLinearMul", "IsInf", "IsNaN",
         "MaxPool", "If", "Loop"}


def values_of(model, session):
    """{name: array, or list of a sequence} of every value in the graph, as ONNX Runtime computes it; None when one cannot be an output."""
    proto = onnx.ModelProto()
    proto.CopyFrom(model.proto)
    given = {output.name for output in proto.graph.output}
    names = [name for node in proto.graph.node for name in node.output if name]
    proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in given)
    try:
        runner = session(proto.SerializeToString())
        found = dict(zip(names, runner.run(names, model.feeds)))
    except Exception:
        return None
    return model.feeds | found


def call_of(model, node, values):
    """(a model of this node alone, its feeds)"""
    stored = {one.name: one for one in model.proto.graph.initializer}
    feeds = {name: values[name] for name in node.input if name and name not in stored}
    infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for name, array in feeds.items()]
    outputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(values[name].dtype), values[name].shape) for name in node.output if name]
    graph = helper.make_graph([node], "call", infos, outputs, [stored[name] for name in dict.fromkeys(node.input) if name in stored])
    return helper.make_model(graph, opset_imports=list(model.proto.opset_import), ir_version=model.proto.ir_version), feeds


@dataclass
class Call:
    """One node as a model of its own."""
    proto: onnx.ModelProto
    feeds: dict
    wanted: dict


def each_agrees(model, values, run):
    for node in model.proto.graph.node:
        if not all(isinstance(values.get(name, np.zeros(0)), np.ndarray) for name in [*node.input, *node.output]):
            continue  # sequences are moved about, not computed with
        proto, feeds = call_of(model, node, values)
        if not feeds:
            continue
        found = run(proto.SerializeToString(), feeds)
        wanted = {name: values[name] for name in node.output if name}
        difference = differences.first_difference(found, wanted)
        if difference and not explained.find(Call(proto, feeds, wanted), difference):
            return False
    return True


def explains(model, difference, run, session):
    if difference.kind not in ("values", "shape") or len(model.proto.graph.node) < 2:
        return False
    has_steps = bool(STEPS & {node.op_type for node in model.proto.graph.node})
    if not has_steps and (difference.kind == "shape" or difference.worst > MOST * differences.scale_of(model.wanted[difference.output])):
        return False
    values = values_of(model, session)
    try:
        return values is not None and each_agrees(model, values, run)
    except Exception:  # a call that is refused alone is no explanation
        return False
