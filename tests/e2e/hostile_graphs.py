#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Small graphs whose attributes and stored operands are replaced by numbers that no tensor has.

A seed is a chain of nodes. It comes in four forms: its input as it is; after a Reshape whose shape is computed from a known
one; after one whose dimensions, or whose rank, nobody can know before the model runs. draw_model() joins a few seeds and changes a few numbers;
hostile_graphs.py [--runs N] [--seed S] [--keep FOLDER] tries that many and says what went wrong.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LOWEST, HIGHEST = -(2 ** 63), 2 ** 63 - 1
SMALL = [0, -1, 1, 2, 3, 4, -2, -3, -4, -5, 5, 6, 7]  # of which many are an axis of some other rank
HUGE = [64, 65, -65, 200, -1048576, 2 ** 30, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), 2 ** 32, 2 ** 40, 2 ** 48,
           2 ** 62, -(2 ** 62), HIGHEST, HIGHEST - 1, LOWEST, LOWEST + 1]
STORED = [number for number in HUGE if not 2 ** 24 < abs(number) < 2 ** 36]  # the others are tensors that a machine can hold
FORMS = ["known", "found later", "unknown", "unknown rank"]
ALLOWED = {0, 2, 3, 4, 5, 6, 7}
SECONDS = 30  # of one run; each takes far less than one


@dataclass
class N:
    """A node that reads what the one before it wrote, then `more` (arrays, None, or the seed's input by any text); several outputs are joined by a Concat when `join`."""
    op: str
    attributes: dict = field(default_factory=dict)
    more: list = field(default_factory=list)
    outputs: int = 1
    join: int = None


def ints(*numbers):
    return np.array(numbers, np.int64)


def floats(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


# name: input shape, opset, nodes
SEEDS = {
    "transposes": ((2, 3, 4), 17, [N("Transpose", {"perm": [1, 0, 2]}), N("Relu"), N("Transpose", {"perm": [1, 0, 2]})]),
    "transpose before Gather": ((2, 3, 4), 17, [N("Transpose", {"perm": [2, 0, 1]}), N("Gather", {"axis": 1}, [ints(1)]), N("Relu")]),
    "transpose before Concat": ((3, 4), 17, [N("Transpose", {"perm": [1, 0]}), N("Concat", {"axis": 1}, [floats(4, 3)]), N("Transpose", {"perm": [1, 0]})]),
    "transpose before Add": ((2, 3, 4), 17, [N("Transpose", {"perm": [0, 2, 1]}), N("Add", {}, [floats(3)]), N("Transpose", {"perm": [0, 2, 1]})]),
    "transpose before Softmax": ((2, 3, 4), 17, [N("Transpose", {"perm": [0, 2, 1]}), N("Softmax", {"axis": 1}), N("Transpose", {"perm": [0, 2, 1]})]),
    "old Softmax": ((2, 3, 4), 11, [N("Transpose", {"perm": [0, 2, 1]}), N("Softmax", {"axis": 1}), N("LogSoftmax", {"axis": 2}), N("Hardmax", {"axis": -1})]),
    "transpose before ArgMax": ((2, 3, 4), 17, [N("Transpose", {"perm": [0, 2, 1]}), N("ArgMax", {"axis": 1, "keepdims": 1}), N("Cast", {"to": 1}), N("Transpose", {"perm": [0, 2, 1]})]),
    "transpose before Split": ((2, 4, 6), 13, [N("Transpose", {"perm": [0, 2, 1]}), N("Split", {"axis": 1}, [ints(2, 4)], 2, 1), N("Transpose", {"perm": [0, 2, 1]})]),
    "transpose before Slice": ((2, 4, 6), 17, [N("Transpose", {"perm": [0, 2, 1]}), N("Slice", {}, [ints(1), ints(4), ints(1), ints(1)]), N("Transpose", {"perm": [0, 2, 1]})]),
    "transpose before Pad": ((2, 4, 6), 17, [N("Transpose", {"perm": [0, 2, 1]}), N("Pad", {}, [ints(0, 1, 0, 0, 0, 2)]), N("Transpose", {"perm": [0, 2, 1]})]),
    "transpose before Tile": ((2, 4, 6), 17, [N("Transpose", {"perm": [0, 2, 1]}), N("Tile", {}, [ints(1, 2, 1)]), N("Transpose", {"perm": [0, 2, 1]})]),
    "transpose before Squeeze": ((2, 1, 6), 17, [N("Transpose", {"perm": [0, 2, 1]}), N("Squeeze", {}, [ints(2)]), N("Unsqueeze", {}, [ints(1)]), N("Transpose", {"perm": [0, 2, 1]})]),
    "old Squeeze": ((2, 1, 6), 11, [N("Transpose", {"perm": [0, 2, 1]}), N("Squeeze", {"axes": [2]}), N("Unsqueeze", {"axes": [0]}), N("Unsqueeze", {"axes": [2]}), N("Transpose", {"perm": [3, 0, 2, 1]})]),
    "transpose before ReduceMean": ((2, 3, 4, 5), 13, [N("Transpose", {"perm": [0, 2, 3, 1]}), N("ReduceMean", {"axes": [1, 2], "keepdims": 1}), N("Transpose", {"perm": [0, 3, 1, 2]})]),
    "transpose before Reshape": ((2, 3, 4), 17, [N("Transpose", {"perm": [1, 0, 2]}), N("Reshape", {}, [ints(3, 2, 2, 2)]), N("Transpose", {"perm": [1, 0, 2, 3]})]),
    "transpose before Shape": ((2, 3, 4), 17, [N("Transpose", {"perm": [1, 0, 2]}), N("Shape", {"start": 1, "end": 3}), N("Cast", {"to": 1})]),
    "reductions": ((2, 3, 4), 18, [N("ReduceMax", {"keepdims": 1}, [ints(1)]), N("ReduceSum", {"keepdims": 0}, [ints(1)]), N("Unsqueeze", {}, [ints(1)]), N("ReduceL2", {"keepdims": 0}, [ints(0, 2)])]),
    "old reductions": ((2, 3, 4), 11, [N("ReduceSum", {"axes": [1], "keepdims": 0}), N("Unsqueeze", {"axes": [1]}), N("ReduceMin", {"axes": [0, -1], "keepdims": 1}), N("ReduceLogSumExp", {"axes": [1]})]),
    "views": ((2, 3, 4), 17, [N("Reshape", {}, [ints(0, -1)]), N("Reshape", {}, [ints(2, 3, 4)]), N("Flatten", {"axis": 2}), N("Unsqueeze", {}, [ints(0)]), N("Unsqueeze", {}, [ints(3)]), N("Squeeze", {}, [ints(0, 3)])]),
    "Flatten and LogSoftmax": ((2, 3, 4), 17, [N("LogSoftmax", {"axis": -1}), N("Flatten", {"axis": 1}), N("Einsum", {"equation": "ij->ji"})]),
    "concats": ((2, 3), 17, [N("Concat", {"axis": 0}, [floats(1, 3)]), N("Concat", {"axis": 0}, [floats(1, 3)]), N("Relu")]),
    "slices": ((4, 5, 6), 17, [N("Slice", {}, [ints(1), ints(4), ints(0), ints(1)]), N("Slice", {}, [ints(0), ints(5), ints(2), ints(2)]), N("Relu")]),
    "old Slice and Pad": ((4, 5, 6), 9, [N("Slice", {"starts": [1], "ends": [4], "axes": [0]}), N("Pad", {"pads": [0, 1, 0, 0, 0, 2]}), N("Split", {"axis": 2, "split": [3, 5]}, [], 2, 2)]),
    "gathers": ((3, 4, 5), 17, [N("Gather", {"axis": 2}, [ints(0, 3)]), N("GatherElements", {"axis": 1}, [np.zeros((3, 2, 2), np.int64)]), N("Relu")]),
    "GatherND": ((3, 4, 5), 17, [N("ReduceMax", {"axes": [2], "keepdims": 1}), N("GatherND", {"batch_dims": 1}, [np.zeros((3, 1), np.int64)]), N("Relu")]),
    "scatters": ((3, 4), 17, [N("ScatterElements", {"axis": 1}, [np.zeros((3, 1), np.int64), floats(3, 1)]), N("ScatterND", {}, [np.zeros((1, 1), np.int64), floats(1, 4)]), N("Relu")]),
    "LayerNormalization": ((2, 3, 4), 17, [N("LayerNormalization", {"axis": -1}, [floats(4), floats(4)]), N("MatMul", {}, [floats(4, 4)])]),
    "layer norm by hand": ((2, 3, 4), 17, [N("ReduceMean", {"axes": [-1]}), N("Sub", {}, ["first"]), N("Neg"), N("Softmax", {"axis": -1})]),
    "GroupNormalization": ((2, 4, 6), 21, [N("GroupNormalization", {"num_groups": 2}, [floats(4), floats(4)]), N("Relu")]),
    "LpNormalization": ((2, 3, 4), 17, [N("LpNormalization", {"axis": 1, "p": 2}), N("MeanVarianceNormalization", {"axes": [0, 2]}), N("CumSum", {"reverse": 1}, [ints(1)])]),
    "TopK": ((2, 3, 8), 17, [N("TopK", {"axis": 2, "largest": 1}, [ints(3)], 2), N("Relu")]),
    "OneHot": ((2, 3), 17, [N("Cast", {"to": 7}), N("OneHot", {"axis": 1}, [ints(5), np.array([0, 1], np.float32)]), N("Relu")]),
    "Compress": ((2, 3, 4), 17, [N("Compress", {"axis": 1}, [np.array([True, False, True])]), N("Trilu", {"upper": 1}, [np.array(1, np.int64)]), N("Relu")]),
    "ReverseSequence": ((4, 3, 2), 17, [N("ReverseSequence", {"batch_axis": 1, "time_axis": 0}, [ints(4, 2, 3)]), N("Relu")]),
    "Conv": ((1, 4, 9, 9), 17, [N("Pad", {}, [ints(0, 0, 1, 1, 0, 0, 1, 1)]), N("Conv", {"kernel_shape": [3, 3], "pads": [1, 0, 2, 1], "strides": [2, 1], "dilations": [1, 2], "group": 2}, [floats(4, 2, 3, 3), floats(4)]), N("Relu"),
                                N("Concat", {"axis": -1}, [floats(1, 4, 6, 1)]), N("Flatten", {"axis": 1})]),
    "Conv and norm": ((1, 4, 8, 8), 17, [N("Conv", {"group": 1}, [floats(4, 4, 1, 1)]), N("BatchNormalization", {}, [np.ones(4, np.float32)] * 4), N("ConvTranspose", {"strides": [2, 2], "output_padding": [1, 1], "pads": [0, 0, 1, 1], "group": 2}, [floats(4, 2, 3, 3)]),
                                         N("Mul", {}, [floats(1, 4, 1, 1)])]),
    "depthwise": ((1, 4, 8, 8), 17, [N("Conv", {"kernel_shape": [1, 1], "group": 1}, [floats(4, 4, 1, 1), floats(4)]), N("Relu"), N("Conv", {"kernel_shape": [3, 3], "group": 4, "pads": [1, 1, 1, 1]}, [floats(4, 1, 3, 3), floats(4)]), N("Relu"),
                                     N("Conv", {"kernel_shape": [1, 1], "group": 1}, [floats(2, 4, 1, 1), floats(2)])]),
    "pools": ((1, 4, 12, 12), 17, [N("MaxPool", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "dilations": [1, 1], "ceil_mode": 1}), N("AveragePool", {"kernel_shape": [2, 2], "strides": [1, 1], "pads": [0, 0, 1, 1]}),
                                   N("LpPool", {"kernel_shape": [2, 2], "p": 2}), N("GlobalAveragePool")]),
    "padded pool": ((1, 4, 12, 12), 17, [N("Relu"), N("Pad", {}, [ints(0, 0, 1, 1, 0, 0, 1, 1)]), N("AveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}), N("ReduceMean", {"axes": [2, 3], "keepdims": 1})]),
    "DepthToSpace": ((1, 8, 4, 4), 17, [N("DepthToSpace", {"blocksize": 2}), N("SpaceToDepth", {"blocksize": 4}), N("Relu")]),
    "Resize": ((1, 2, 4, 4), 18, [N("Resize", {"axes": [2, 3], "mode": "linear"}, [None, None, ints(8, 6)]), N("CenterCropPad", {"axes": [2, 3]}, [ints(4, 4)]), N("LRN", {"size": 3})]),
    "Expand": ((1, 3, 1), 17, [N("Expand", {}, [ints(2, 3, 4)]), N("Tile", {}, [ints(1, 2, 1)]), N("Transpose", {"perm": [2, 0, 1]})]),
    "Gemm": ((2, 6), 17, [N("Gemm", {"transA": 0, "transB": 1}, [floats(4, 6), floats(4)]), N("Reshape", {}, [ints(2, 2, 2)]), N("Add", {}, [floats(2)]), N("Softmax", {"axis": 1})]),
    "MatMul and Add": ((2, 3, 4), 17, [N("MatMul", {}, [floats(4, 4)]), N("Add", {}, [floats(4)]), N("Reshape", {}, [ints(6, -1)]), N("Split", {"axis": 1}, [ints(1, 3)], 2, 1)]),
    "equal Split": ((2, 3, 8), 18, [N("Split", {"axis": 2, "num_outputs": 2}, [], 2, 2), N("Relu")]),
    "quantized": ((2, 3, 4), 17, [N("QuantizeLinear", {"axis": 1}, [np.full(3, 0.05, np.float32), np.zeros(3, np.int8)]), N("DequantizeLinear", {"axis": 1}, [np.full(3, 0.05, np.float32), np.zeros(3, np.int8)]), N("Relu")]),
    "LSTM": ((5, 1, 3), 17, [N("LSTM", {"hidden_size": 2, "layout": 0}, [floats(1, 8, 3), floats(1, 8, 2)], 3), N("Squeeze", {}, [ints(1)])]),
    "shape chain": ((2, 3, 4), 17, [N("Shape"), N("Slice", {}, [ints(1), ints(3), ints(0), ints(1)]), N("Concat", {"axis": 0}, [ints(2)]), N("ConstantOfShape"), N("Gather", {"axis": 0}, [np.array(0, np.int64)])]),
    "EyeLike": ((3, 4), 17, [N("EyeLike", {"k": 1}), N("Relu")]),
    "Col2Im": ((1, 8, 9), 18, [N("Col2Im", {"strides": [1, 1], "pads": [0, 0, 0, 0], "dilations": [1, 1]}, [ints(4, 4), ints(2, 2)]), N("Relu")]),
    "RoiAlign": ((1, 2, 6, 6), 16, [N("RoiAlign", {"output_height": 2, "output_width": 2, "sampling_ratio": 1}, [np.array([[0, 0, 4, 4]], np.float32), ints(0)]), N("Relu")]),
    "DFT": ((1, 8, 1), 19, [N("DFT", {"axis": 1, "onesided": 0, "inverse": 0}), N("ReduceSum", {}, [ints(-1)])]),
}


def front(form, shape):
    """The nodes between the input and the seed, and the input's dims."""
    if form == "known":
        return [], list(shape)
    dims = list(shape) if form == "found later" else [f"d{i}" for i in range(len(shape))]
    if form == "unknown rank":  # all dimensions, as it turns out
        steps = [helper.make_node("Shape", ["input"], ["s0"]), helper.make_node("GreaterOrEqual", ["s0", "zero"], ["s1"]),
                 helper.make_node("Compress", ["s0", "s1"], ["s2"]), helper.make_node("Reshape", ["input", "s2"], ["x"], name="front")]
        return steps, dims
    steps = [helper.make_node("Shape", ["input"], ["s0"]), helper.make_node("Cast", ["s0"], ["s1"], to=TensorProto.FLOAT),
             helper.make_node("Mul", ["s1", "one"], ["s2"]), helper.make_node("Cast", ["s2"], ["s3"], to=TensorProto.INT64),
             helper.make_node("Reshape", ["input", "s3"], ["x"], name="front")]
    return steps, dims


def build(seed, form, more=()):
    """The model of a seed in one of the FORMS, with the chains of `more` seeds after its own."""
    shape, opset, chain = SEEDS[seed]
    chain = [*chain, *(step for other in more for step in SEEDS[other][2])]
    nodes, dims = front(form, shape)
    stored = [numpy_helper.from_array(np.array(1, np.float32), "one"), numpy_helper.from_array(np.array(0, np.int64), "zero")]
    value = first = "x" if nodes else "input"
    for at, step in enumerate(chain):
        inputs = [value]
        for k, operand in enumerate(step.more):
            name = "" if operand is None else f"c{at}_{k}"
            if isinstance(operand, str):
                name = first
            elif operand is not None:
                stored.append(numpy_helper.from_array(operand, name))
            inputs.append(name)
        outputs = [f"t{at}_{k}" for k in range(step.outputs)]
        nodes.append(helper.make_node(step.op, inputs, outputs, name=f"n{at}", **step.attributes))
        value = outputs[0]
        if step.join is not None:
            nodes.append(helper.make_node("Concat", outputs, [f"j{at}"], name=f"j{at}", axis=step.join))
            value = f"j{at}"
    nodes.append(helper.make_node("Reshape", [value, "flat"], ["y"], name="last"))  # the checker wants the rank of an output
    stored.append(numpy_helper.from_array(ints(-1), "flat"))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("input", TensorProto.FLOAT, dims)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["m"])], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def lists_from(numbers, nasty):
    """`numbers` with the number at each end, at all places, twice, appended, cut, and none at all."""
    numbers = list(numbers)
    changed = [numbers[:-1] + [nasty], [nasty] + numbers[1:], [nasty] * len(numbers), numbers + [nasty]] if numbers else [[nasty]]
    return changed + [numbers[:-1], [], numbers + numbers, numbers[:1] * len(numbers)]


def places_of(model):
    """What can be changed: (node index, attribute index) and (None, initializer index), of the seeds' own nodes."""
    found = []
    for at, node in enumerate(model.graph.node):
        if not node.name.startswith(("n", "j")):
            continue
        found += [(at, k) for k, attribute in enumerate(node.attribute) if attribute.type in (onnx.AttributeProto.INT, onnx.AttributeProto.INTS)]
    found += [(None, k) for k, tensor in enumerate(model.graph.initializer) if tensor.data_type == TensorProto.INT64 and tensor.name.startswith("c")]
    return found


def shuffled(draw):
    """A permutation of some other rank."""
    order = list(range(draw.randrange(7)))
    draw.shuffle(order)
    return order


def change(model, place, draw):
    """Changes one place as `draw`, a random.Random, says; returns what was done."""
    at, k = place
    nasty = draw.choice(draw.choice([SMALL, SMALL, STORED if at is None else HUGE]))
    if at is None:
        tensor = model.graph.initializer[k]
        old = numpy_helper.to_array(tensor)
        if old.ndim == 1:
            new = np.array(draw.choice(lists_from([int(one) for one in old], nasty)), np.int64)
        else:
            new = old.copy()
            if new.size:
                new.reshape(-1)[draw.randrange(new.size)] = nasty
        tensor.CopyFrom(numpy_helper.from_array(new, tensor.name))
        return f"initializer {tensor.name} = {new.tolist()}"
    attribute = model.graph.node[at].attribute[k]
    if attribute.type == onnx.AttributeProto.INT:
        attribute.i = nasty
    else:
        numbers = draw.choice(lists_from(attribute.ints, nasty))
        if attribute.name == "perm" and draw.random() < 0.7:
            numbers = shuffled(draw)
        del attribute.ints[:]
        attribute.ints.extend(numbers)
    text = attribute.i if attribute.type == onnx.AttributeProto.INT else list(attribute.ints)
    return f"{model.graph.node[at].name} ({model.graph.node[at].op_type}) {attribute.name} = {text}"


def draw_model(draw):
    """A changed model, the shape of its input and the words for what was changed."""
    while True:
        form = draw.choice([*FORMS, "unknown rank", "unknown rank", "unknown rank"])
        seed, *more = draw.choices(sorted(SEEDS), k=draw.choice([1, 1, 2, 3]))
        model = build(seed, form, [other for other in more if form.startswith("unknown") and SEEDS[other][1] == SEEDS[seed][1]])
        places = places_of(model)
        if not places:
            continue
        chosen = draw.sample(places, min(len(places), draw.choice([1, 1, 1, 2, 3])))
        return model, SEEDS[seed][0], f"{' + '.join([seed, *more])}, {form}: " + "; ".join(change(model, place, draw) for place in chosen)


RANDOM_DATA = ["--set", "UseRandomData=true"]


def commands(model, folder, shape):
    """The runs to try: name -> arguments. Puts a sample of this shape into the folder."""
    inputs = os.path.join(folder, "in")
    os.makedirs(inputs, exist_ok=True)
    np.save(os.path.join(inputs, "0.npy"), floats(*shape))
    tried = {"run": ["run", model, "--inputs", inputs, "--outputs", os.path.join(folder, "out"), "--max-memory", "1000000000"],
             "optimize": ["optimize", model, "-o", os.path.join(folder, "o.onnx")],
             "analyze": ["analyze", model, "--config", "a8w8", *RANDOM_DATA],
             "calibrate": ["calibrate", model, "--config", "a8w8", *RANDOM_DATA, "-o", os.path.join(folder, "o.stats")],
             "inspect": ["inspect", model], "check": ["check", model]}
    for preset in ["a8w8", "xint8", "fp16", "a16w8", "bf16", "bfp16", "mx9_int8", "mxint8", "int8_transformer_default", "matmul_nbits", "a8w8_adaround"]:
        tried[f"quantize {preset}"] = ["quantize", model, "--config", preset, *RANDOM_DATA, "-o", os.path.join(folder, "o.onnx")]
    for extra in ["include_cle=true", "ConvertSplitToSlice=true", "use_dynamic_quant=true", "ConvertNCHWToNHWC=true", "ConvertOpsetVersion=21"]:
        tried[f"quantize a8w8 {extra}"] = [*tried["quantize a8w8"], "--set", extra]
    tried["quantize compat"] = [*tried["quantize xint8"], "--compat", "quark-0.13"]
    return tried


def complaint(result):
    """Why the run is wrong; empty when it is not. `result` is a CompletedProcess, or None when time was up."""
    if result is None:
        return f"took longer than {SECONDS} s"
    said = " ".join(result.stderr.split())[-400:]
    if result.returncode < 0:
        return f"signal {-result.returncode}: {said}"
    if "internal error" in result.stderr or "AddressSanitizer" in result.stderr or "runtime error" in result.stderr:
        return f"exit {result.returncode}: {said}"
    return "" if result.returncode in ALLOWED else f"exit {result.returncode}: {said}"


def run_command(binary, arguments):
    try:
        return subprocess.run([binary, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=SECONDS,
                              check=False, env={**os.environ, "OMP_NUM_THREADS": "1"})
    except subprocess.TimeoutExpired:
        return None


def run_one(binary, number, seed, keep, names=None):
    """One drawn model through one drawn command; returns the findings as text."""
    draw = random.Random(f"{seed}/{number}")
    model, shape, what = draw_model(draw)
    with tempfile.TemporaryDirectory(prefix="quarkq-hostile-") as folder:
        path = os.path.join(folder, "m.onnx")
        with open(path, "wb") as file:
            file.write(model.SerializeToString())
        tried = commands(path, folder, shape)
        name = draw.choice(sorted(names or tried))
        reason = complaint(run_command(binary, tried[name]))
    if not reason:
        return ""
    if keep:
        os.makedirs(keep, exist_ok=True)
        with open(os.path.join(keep, f"{number}.onnx"), "wb") as file:
            file.write(model.SerializeToString())
    return f"run {number}, {name}: {what}: {reason}"


def run_many(binary, numbers, seed, keep=None, names=None, jobs=2):
    """The findings of all runs."""
    with ThreadPoolExecutor(jobs) as pool:
        return [text for text in pool.map(lambda number: run_one(binary, number, seed, keep, names), numbers) if text]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=os.environ.get("QUARKQ", "build/release/quarkq"))
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", help="folder for the models of findings")
    parser.add_argument("--command", action="append", help="only these, for example 'quantize fp16'")
    arguments = parser.parse_args()
    start = time.time()
    found = run_many(arguments.binary, range(arguments.first, arguments.first + arguments.runs), arguments.seed, arguments.keep, arguments.command,
                     arguments.jobs)
    print("\n".join(found))
    print(f"{arguments.runs} runs, {len(found)} findings, {time.time() - start:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
