# SPDX-License-Identifier: MIT
"""Recipes of control flow, sequences and optionals."""
import numpy as np
from onnx import TensorProto, helper

from operators import recipe
from operators.builder import array_tensor, onnx_type


def info(name, dtype, dims):
    return helper.make_tensor_value_info(name, onnx_type(dtype), dims)


@recipe("If", since=11)
def condition(b, op):
    dims = b.dims(least=1, empty=0)
    x = b.operand(dims)
    branches = {}
    for name, inner in (("then_branch", b.pick(["Relu", "Neg"])), ("else_branch", b.pick(["Sigmoid", "Abs"]))):
        out = f"{name}_{len(b.nodes)}"
        branches[name] = helper.make_graph([helper.make_node(inner, [x], [out])], name, [], [info(out, np.float32, dims)])
    b.call(op, [b.stored(np.asarray(b.chance(0.5)), late=0.5)], **branches)


@recipe("Loop", since=11)
def loop(b, op):
    dims = b.dims(most=2, largest=3, empty=0)
    weight, prefix = b.operand(dims), f"l{len(b.nodes)}"
    nodes = [helper.make_node("Mul", [f"{prefix}s", weight], [f"{prefix}m"]), helper.make_node(b.pick(["Tanh", "Neg"]), [f"{prefix}m"], [f"{prefix}t"]),
             helper.make_node("Identity", [f"{prefix}c"], [f"{prefix}d"]), helper.make_node("Relu", [f"{prefix}t"], [f"{prefix}o"])]
    body = helper.make_graph(nodes, "body", [info(f"{prefix}i", np.int64, []), info(f"{prefix}c", bool, []), info(f"{prefix}s", np.float32, dims)],
                             [info(f"{prefix}d", bool, []), info(f"{prefix}t", np.float32, dims), info(f"{prefix}o", np.float32, dims)])
    b.call(op, [b.stored(np.asarray(b.integer(0, 4), np.int64), late=0.4), b.stored(np.asarray(True), late=0.2), b.operand(dims)], 2, body=body)


@recipe("Scan", since=11)
def scan(b, op):
    dims = b.dims(most=2, largest=3, empty=0)
    length, prefix = b.integer(1, 4), f"s{len(b.nodes)}"
    nodes = [helper.make_node("Add", [f"{prefix}a", f"{prefix}x"], [f"{prefix}n"]), helper.make_node("Tanh", [f"{prefix}n"], [f"{prefix}y"])]
    body = helper.make_graph(nodes, "body", [info(f"{prefix}a", np.float32, dims), info(f"{prefix}x", np.float32, dims)],
                             [info(f"{prefix}n", np.float32, dims), info(f"{prefix}y", np.float32, dims)])
    b.call(op, [b.operand(dims), b.operand([length, *dims])], 2, body=body, num_scan_inputs=1, scan_input_directions=b.pick([None, [0], [1]]),
           scan_output_directions=b.pick([None, [0], [1]]))


@recipe("SequenceConstruct", "SequenceAt", "SequenceInsert", "SequenceErase", "SequenceLength", "ConcatFromSequence", since=11)
def sequence(b, op):
    dims, dtype = b.dims(least=1, most=3, empty=0), b.pick([np.float32, np.int64])
    count = b.integer(1, 3)
    items = b.call("SequenceConstruct", [b.operand(dims, dtype) for _ in range(count)])
    place = b.ints(b.integer(-count, count - 1))
    if op == "SequenceLength":
        b.call(op, [items])
        return
    if op in ("SequenceInsert", "SequenceErase") and count > 1:
        items = b.call("SequenceInsert", [items, b.operand(dims, dtype), place]) if op == "SequenceInsert" else b.call(op, [items, place])
        count += 1 if op == "SequenceInsert" else -1
    if op == "ConcatFromSequence" or b.chance(0.3):
        stacks = b.integer(0, 1)
        b.call("ConcatFromSequence", [items], axis=b.axis(len(dims)), new_axis=stacks)
        return
    b.call("SequenceAt", [items, b.ints(b.integer(-count, count - 1))])


@recipe("SplitToSequence", since=11)
def split_to_sequence(b, op):
    parts = [b.integer(1, 3) for _ in range(b.integer(1, 3))]
    dims = b.dims(least=1, most=3, empty=0)
    axis = b.integer(0, len(dims) - 1)
    dims[axis] = sum(parts)
    form = b.pick(["parts", "size", "ones"])
    inputs = [b.operand(dims)] + ([b.ints(parts)] if form == "parts" else [b.ints(b.integer(1, 3))] if form == "size" else [])
    items = b.call(op, inputs, axis=axis, keepdims=b.pick([None, 0, 1]) if form == "ones" else None)
    b.call("SequenceAt", [items, b.ints(0)])
    b.call("SequenceLength", [items])


@recipe("SequenceEmpty", since=11)
def empty_sequence(b, op):
    items = b.call(op, [], dtype=TensorProto.FLOAT)
    b.call("SequenceAt", [b.call("SequenceInsert", [items, b.operand(b.dims(empty=0))]), b.ints(0)])


@recipe("Optional", "OptionalGetElement", "OptionalHasElement", since=15)
def optional(b, op):
    packed = b.call("Optional", [b.operand(b.dims(empty=0))])
    b.call("OptionalHasElement" if op == "OptionalHasElement" else "OptionalGetElement", [packed])


@recipe("SequenceMap", since=17)
def sequence_map(b, op):
    dims, prefix = b.dims(least=1, most=3, empty=0), f"q{len(b.nodes)}"
    body = helper.make_graph([helper.make_node("Relu", [f"{prefix}x"], [f"{prefix}y"])], "body", [info(f"{prefix}x", np.float32, dims)],
                             [info(f"{prefix}y", np.float32, dims)])
    items = b.call("SequenceConstruct", [b.operand(dims), b.operand(dims)])
    b.call("SequenceAt", [b.call(op, [items], body=body), b.ints(1)])


@recipe("ConstantOfShape", since=9)
def shape_chain(b, op):
    """A shape that is computed before it is used."""
    length = b.call("Shape", [b.operand(b.dims(least=1, empty=0))])
    b.call(op, [length], value=array_tensor(np.float32([0.5])))
