# SPDX-License-Identifier: MIT
"""What is recorded of a quantized model, and how a model is compared with a recording.

describe(): ir_version, opsets, ops (how many nodes of each type), tensors (what each quantized tensor is stored as; an activation goes
by its name, a stored tensor by "<first output of its reader>:<input index>", because optimizers rename stored tensors).
describe_all(): also nodes, stored tensors, graph inputs and outputs, for small models.
"""
import collections

import numpy as np
import onnx
from onnx import helper, numpy_helper

BLOCK_OPERATORS = ("BFPQuantizeDequantize", "MXQuantizeDequantize")
FEW = 8  # a stored tensor of so few values is recorded as it is, a larger one by its extremes and sum


def operator(node):
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}::{node.op_type}"


def plain_attribute(attribute):
    value = helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, onnx.TensorProto):
        return describe_tensor(value)
    if isinstance(value, onnx.GraphProto):
        return f"graph of {len(value.node)} nodes"
    if isinstance(value, (list, tuple)):
        return [inner.decode() if isinstance(inner, bytes) else inner for inner in value]
    return value


def describe_tensor(tensor):
    values = numpy_helper.to_array(tensor).astype(np.float64).reshape(-1)
    kind = onnx.TensorProto.DataType.Name(tensor.data_type)
    if values.size <= FEW:
        return [kind, list(tensor.dims), values.tolist()]
    return [kind, list(tensor.dims), values.min(), values.max(), values.sum()]


def describe_node(node):
    attributes = {attribute.name: plain_attribute(attribute) for attribute in node.attribute}
    return [node.op_type, node.domain if node.domain != "ai.onnx" else "", node.name, list(node.input), list(node.output), attributes]


def describe_value(value):
    dims = [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in value.type.tensor_type.shape.dim]
    return [value.name, value.type.tensor_type.elem_type, dims]


def is_pair_node(described):
    """Q, DQ and block operators: what `tensors` tells of them is enough."""
    return described[0].endswith(("QuantizeLinear", "DequantizeLinear")) or described[0] in BLOCK_OPERATORS


def is_sorted(nodes):
    """Whether every described node comes after those it reads from. What nested graphs read is not described."""
    made_later = {name for node in nodes for name in node[4]}
    for node in nodes:
        if any(name in made_later for name in node[3]) or any(str(value).startswith("graph of") for value in node[5].values()):
            return False
        made_later.difference_update(node[4])
    return True


class _Graph:
    def __init__(self, graph):
        self.nodes = graph.node
        self.stored = {tensor.name: tensor for tensor in graph.initializer}
        self.stored.update({node.output[0]: attribute.t for node in graph.node if node.op_type == "Constant"
                            for attribute in node.attribute if attribute.name == "value"})
        self.producer = {name: node for node in graph.node for name in node.output}
        self.first_reader = {}
        for node in graph.node:
            for place, name in enumerate(node.input):
                self.first_reader.setdefault(name, f"{node.output[0]}:{place}")

    def key(self, source, result):
        return self.first_reader.get(result, source) if source in self.stored else source

    def numbers(self, name):
        return numpy_helper.to_array(self.stored[name]).astype(np.float64).reshape(-1).tolist() if name in self.stored else None


def _pair_entry(graph, node):
    """(key, entry) of the tensor that a DQ node gives back."""
    source = node.input[0]
    quantizer = graph.producer.get(source)
    if quantizer is not None and "QuantizeLinear" in quantizer.op_type:
        source = quantizer.input[0]
    has_zero = len(node.input) > 2 and node.input[2] in graph.stored
    zeros = graph.numbers(node.input[2]) if has_zero else None
    if zeros is not None and not any(zeros):
        zeros = 0
    dtype = onnx.TensorProto.DataType.Name(graph.stored[node.input[2]].data_type) if has_zero else None
    return graph.key(source, node.output[0]), {"op": operator(node), "scale": graph.numbers(node.input[1]), "zero_point": zeros, "dtype": dtype,
                                               "attributes": describe_node(node)[5]}


def _tensors(model):
    graph, found = _Graph(model.graph), {}
    for node in graph.nodes:
        if node.op_type in BLOCK_OPERATORS:
            found.setdefault(graph.key(node.input[0], node.output[0]), {"op": operator(node), "attributes": describe_node(node)[5]})
        elif "DequantizeLinear" in node.op_type and len(node.input) > 1:
            key, entry = _pair_entry(graph, node)
            found.setdefault(key, entry)
    return found


def describe(model):
    return {"ir_version": model.ir_version, "opsets": {entry.domain or "ai.onnx": entry.version for entry in model.opset_import},
            "ops": dict(collections.Counter(map(operator, model.graph.node))), "tensors": _tensors(model)}


def describe_all(model):
    parameters = {name for node in model.graph.node if node.op_type.endswith(("QuantizeLinear", "DequantizeLinear")) for name in node.input[1:3]}
    return {**describe(model), "nodes": [describe_node(node) for node in model.graph.node],
            "stored": {tensor.name: describe_tensor(tensor) for tensor in model.graph.initializer if tensor.name not in parameters},
            "graph_inputs": [describe_value(value) for value in model.graph.input],
            "graph_outputs": [describe_value(value) for value in model.graph.output]}


def _same_numbers(found, wanted, rtol):
    if found is None or wanted is None:
        return found is wanted
    found, wanted = np.atleast_1d(np.asarray(found, np.float64)), np.atleast_1d(np.asarray(wanted, np.float64))
    return found.shape == wanted.shape and bool(np.allclose(found, wanted, rtol=rtol, atol=0))


def _entry_differences(found, wanted, rtol):
    for field in ("op", "dtype", "attributes"):
        if found.get(field) != wanted.get(field):
            yield f"{field} {found.get(field)} instead of {wanted.get(field)}"
    for field in ("scale", "zero_point"):
        if field in wanted and not _same_numbers(found.get(field), wanted[field], rtol):
            yield f"{field} {str(found.get(field))[:60]} instead of {str(wanted[field])[:60]}"


def compare(found, wanted, rtol):
    """(lines that say what differs, number of tensors that agree, whether the counts of node types agree)."""
    lines, matched = [], 0
    for name, entry in wanted["tensors"].items():
        if name not in found["tensors"]:
            lines.append(f"tensor {name} is not quantized, expected {entry['op']}")
            continue
        differences = list(_entry_differences(found["tensors"][name], entry, rtol))
        lines += [f"tensor {name}: {'; '.join(differences)}"] if differences else []
        matched += not differences
    lines += [f"tensor {name} is quantized, expected float" for name in found["tensors"] if name not in wanted["tensors"]]
    lines += [f"{found['ops'].get(op, 0)} nodes {op} instead of {wanted['ops'].get(op, 0)}" for op in sorted({*found["ops"], *wanted["ops"]})
              if found["ops"].get(op, 0) != wanted["ops"].get(op, 0)]
    return lines, matched, found["ops"] == wanted["ops"]
