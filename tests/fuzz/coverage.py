# SPDX-License-Identifier: MIT
"""What random models are made of: calls by operator and element type, and what the generators never or seldom draw."""
import collections
import json
import subprocess

import onnx

LEAST = 50  # calls of an operator, and of an operator in one type, in PER models
PER = 50000
DOMAINS = ("ai.onnx", "com.microsoft")


def type_name(number):
    return onnx.TensorProto.DataType.Name(number).lower()


def known_types(model):
    """{value: element type} of inputs, stored tensors and what inference tells."""
    try:
        model = onnx.shape_inference.infer_shapes(model)
    except onnx.shape_inference.InferenceError:
        pass  # types of inputs and initializers are known all the same
    types = {one.name: one.type.tensor_type.elem_type for one in (*model.graph.input, *model.graph.output, *model.graph.value_info)}
    types.update({one.name: one.data_type for one in model.graph.initializer})
    return {name: type_name(number) for name, number in types.items() if number}


def calls_of(model):
    """["Operator type", ...]: of each node its operator and the type of its first operand, or result where it has none."""
    types, calls = known_types(model), []
    for node in model.graph.node:
        operator = f"{node.domain}:{node.op_type}" if node.domain else node.op_type
        calls.append(f"{operator} {next((types[name] for name in (*node.input, *node.output) if name in types), 'other')}")
    return calls


def by_operator(calls):
    """{operator: {type: count}} of counted calls."""
    found = collections.defaultdict(dict)
    for call, count in sorted(calls.items()):
        operator, element = call.split(" ")
        found[operator][element] = count
    return dict(found)


def operators_with_kernels(binary):
    rows = json.loads(subprocess.run([binary, "list", "ops", "--json"], capture_output=True, text=True, check=True).stdout)
    return {row["name"] if row["domain"] == "ai.onnx" else f"{row['domain']}:{row['name']}" for row in rows
            if row["domain"] in DOMAINS and row["since"] not in ("", "-")}


def schema_types(operator):
    """Element types that the newest version of the schema allows for the first input; empty where it is no tensor of several types."""
    domain, _, name = operator.rpartition(":")
    if domain or not onnx.defs.has(name):
        return set()
    schema = onnx.defs.get_schema(name)
    if not schema.inputs:
        return set()
    return {text[len("tensor("):-1] for text in schema.inputs[0].types if text.startswith("tensor(")}


def report(types, drawn, kernels):
    """Lines: operators with a kernel that are seldom compared, and the types of each that never are."""
    lines = []
    for operator in sorted(kernels):
        count = sum(types.get(operator, {}).values())
        if count * PER < LEAST * drawn:
            lines.append(f"{operator}: {count} calls in {drawn} models, fewer than {LEAST} in {PER}")
    for operator in sorted(kernels & set(types)):
        missing = sorted(schema_types(operator) - set(types[operator]))
        if missing:
            lines.append(f"{operator}: never of {' '.join(missing)}")
    return lines
