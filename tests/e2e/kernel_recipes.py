# SPDX-License-Identifier: MIT
"""Calls of every operator that gets Q/DQ nodes, with the attributes that ONNX Runtime's kernels on integers may lack. Each recipe makes
a model of its own: Conv, the operator, and another Conv or the output, because ONNX Runtime moves Transposes across what is between Convs."""
import itertools

import numpy as np
from onnx import TensorProto, helper, numpy_helper, shape_inference

CHANNELS, SIZE = 4, 8
FIRST_OPSET, LAST_OPSET = 7, 22
IR_VERSIONS = {7: 4, 8: 4, 9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9, 21: 10, 22: 10}


class Call:
    """A model under construction. `x` is the output of the first Conv: [1, 4, 8, 8]."""

    def __init__(self, opset, seed=1):
        self.opset = opset
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants = [], []
        self.x = self.conv("input", CHANNELS, CHANNELS, 3)

    def constant(self, array, dtype=np.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array, dtype), name))
        return name

    def ints(self, *values):
        return self.constant(values, np.int64)

    def node(self, op, inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        attributes = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(op, inputs, names, name=f"{op}_{len(self.nodes)}", **attributes))
        return names if outputs > 1 else names[0]

    def conv(self, x, channels, out, kernel):
        weight = self.constant(self.rng.standard_normal((out, channels, kernel, kernel)) * 0.3)
        bias = self.constant(self.rng.standard_normal(out) * 0.1)
        return self.node("Conv", [x, weight, bias], kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4)

    def model(self, results, with_conv):
        """`results`: what the operator made. With `with_conv` a Conv reads it where it is an image."""
        results = [results] if isinstance(results, str) else list(results)
        x = helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, CHANNELS, SIZE, SIZE])
        types = self.types(x, results)
        if with_conv:
            results = [self.after(name, types[name]) for name in results]
            types = self.types(x, results)
        return self.make(x, [types[name] for name in results])

    def after(self, name, info):
        kind = info.type.tensor_type
        dims = [dim.dim_value for dim in kind.shape.dim]
        is_image = kind.elem_type == TensorProto.FLOAT and len(dims) == 4 and all(dims)
        return self.conv(name, dims[1], 2, 1) if is_image else name

    def make(self, x, outputs):
        graph = helper.make_graph(self.nodes, "g", [x], outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=IR_VERSIONS[self.opset])

    def types(self, x, names):
        inferred = shape_inference.infer_shapes(self.make(x, []), data_prop=True).graph.value_info
        found = {info.name: info for info in inferred}
        missing = helper.make_tensor_value_info
        return {name: found.get(name) or missing(name, TensorProto.FLOAT, None) for name in names}


def variants(**choices):
    """Every combination, as keywords."""
    names = list(choices)
    return [dict(zip(names, values)) for values in itertools.product(*choices.values())]


def plain(op, since=1, **choices):
    return [(since, LAST_OPSET, f"{op} {more or ''}", lambda b, more=more: b.node(op, [b.x], **more)) for more in variants(**choices)]


def average_pools():
    rows = []
    for more in variants(ceil_mode=[None, 1], count_include_pad=[None, 1], dilations=[None, [2, 2]], pads=[None, [1, 1, 1, 1]], auto_pad=[None, "SAME_UPPER"]):
        if more["auto_pad"] and (more["pads"] or more["dilations"]):
            continue
        since = 19 if more["dilations"] else 10 if more["ceil_mode"] else 7
        strides = None if more["dilations"] else [2, 2]
        rows.append((since, LAST_OPSET, f"AveragePool {more}", lambda b, more=more, strides=strides: b.node("AveragePool", [b.x], kernel_shape=[3, 3], strides=strides, **more)))
    return rows


def max_pools():
    rows = []
    for more in variants(ceil_mode=[None, 1], dilations=[None, [2, 2]], pads=[None, [1, 1, 1, 1]], storage_order=[None, 1], outputs=[1, 2]):
        since = 10 if more["ceil_mode"] or more["dilations"] else 8 if more["storage_order"] or more["outputs"] > 1 else 1
        rows.append((since, LAST_OPSET, f"MaxPool {more}", lambda b, more=more: b.node("MaxPool", [b.x], kernel_shape=[2, 2], **more)))
    return rows


def pads():
    def pad(b, amounts, mode, axes, value):
        if b.opset < 11:
            return b.node("Pad", [b.x], pads=amounts, mode=mode, value=0.5 if value else None)
        inputs = [b.x, b.ints(*amounts), b.constant(0.5) if value else "", b.ints(*axes) if axes else ""]
        while not inputs[-1]:
            inputs.pop()
        return b.node("Pad", inputs, mode=mode)
    rows = []
    for axes, amounts in ((None, [0, 0, 1, 2, 0, 0, 2, 1]), (None, [0, 1, 1, 1, 0, 1, 1, 1]), (None, [0, 0, -1, 0, 0, 0, 0, -1]), ([-1], [1, 2]), ([2, 3], [1, 1, 1, 1]), ([1], [1, 0]),
                          ([3, 2], [1, 0, 0, 1])):
        for mode, value in (("constant", False), ("constant", True), ("reflect", False), ("edge", False), ("wrap", False)):
            if min(amounts) < 0 and mode != "constant":
                continue
            since = max(18 if axes else 2, 19 if mode == "wrap" else 2)
            rows.append((since, LAST_OPSET, f"Pad {mode} {amounts} {axes} {value}", lambda b, c=(amounts, mode, axes, value): pad(b, *c)))
    return rows


def resizes():
    def resize(b, by_size, axes, antialias, **more):
        factors = [2.0, 2.0] if axes else [1.0, 1.0, 2.0, 2.0]
        if b.opset == 10:
            return b.node("Resize", [b.x, b.constant(factors)], mode=more["mode"])
        sizes = [11, 13] if axes else [1, CHANNELS, 11, 13]
        inputs = [b.x, b.constant(np.zeros(0)) if b.opset < 13 else "", *([b.constant(np.zeros(0)) if b.opset < 13 else "", b.ints(*sizes)] if by_size else [b.constant(factors)])]
        return b.node("Resize", inputs, axes=axes, antialias=antialias, **more)
    rows = [(10, 10, f"Resize {mode}", lambda b, mode=mode: resize(b, False, None, None, mode=mode)) for mode in ("nearest", "linear")]
    for mode in ("nearest", "linear", "cubic"):
        for coordinates, rounding in (("half_pixel", None), ("asymmetric", "floor"), ("align_corners", None), ("pytorch_half_pixel", None), ("half_pixel_symmetric", None)):
            for by_size, axes, antialias in ((False, None, None), (True, None, None), (False, [2, 3], None), (True, [2, 3], None), (False, None, 1)):
                if antialias and mode == "nearest":
                    continue
                since = 19 if coordinates == "half_pixel_symmetric" else 18 if axes or antialias else 11
                more = {"mode": mode, "coordinate_transformation_mode": coordinates, "nearest_mode": rounding if mode == "nearest" else None}
                rows.append((since, LAST_OPSET, f"Resize {mode} {coordinates} {by_size} {axes} {antialias}", lambda b, c=(by_size, axes, antialias), more=more: resize(b, *c, **more)))
    return rows


def upsamples():
    def upsample(b, mode):
        if b.opset < 9:
            return b.node("Upsample", [b.x], mode=mode, scales=[1.0, 1.0, 2.0, 2.0])
        return b.node("Upsample", [b.x, b.constant([1, 1, 2, 2])], mode=mode)
    return [(7, 9, f"Upsample {mode}", lambda b, mode=mode: upsample(b, mode)) for mode in ("nearest", "linear")]


def reduces():
    def reduce(b, op, axes, keepdims):
        by_input = b.opset >= (13 if op == "ReduceSum" else 18)
        inputs = [b.x, b.ints(*axes)] if by_input and axes else [b.x]
        return b.node(op, inputs, axes=None if by_input else axes, keepdims=keepdims)
    rows = []
    for op in ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd", "ReduceL1", "ReduceL2"):
        for axes, keepdims in (([2, 3], 1), ([2, 3], 0), ([1], 1), ([-1], 0), (None, 1)):
            rows.append((1, LAST_OPSET, f"{op} {axes} {keepdims}", lambda b, c=(op, axes, keepdims): reduce(b, *c)))
    return rows


def slices():
    def cut(b, starts, ends, axes, steps):
        if b.opset < 10:
            return b.node("Slice", [b.x], starts=starts, ends=ends, axes=axes)
        inputs = [b.x, b.ints(*starts), b.ints(*ends), b.ints(*axes) if axes else "", b.ints(*steps) if steps else ""]
        while not inputs[-1]:
            inputs.pop()
        return b.node("Slice", inputs)
    cases = [(1, [0], [2], [1], None), (1, [0, 0, 1, 1], [1, 4, 7, 7], None, None), (10, [0, 1], [8, 7], [-1, 2], [2, 1]), (10, [7], [0], [3], [-1]), (10, [1], [3], [-3], [1])]
    return [(since, LAST_OPSET, f"Slice {c}", lambda b, c=c: cut(b, *c)) for since, *c in cases]


def splits():
    def split(b, axis, sizes, outputs):
        if not sizes:
            return b.node("Split", [b.x], outputs, axis=axis, num_outputs=outputs if b.opset >= 18 else None)
        return b.node("Split", [b.x, b.ints(*sizes)] if b.opset >= 13 else [b.x], outputs, axis=axis, split=None if b.opset >= 13 else sizes)
    return [(2, LAST_OPSET, f"Split {c}", lambda b, c=c: split(b, *c)) for c in ((1, None, 2), (1, [1, 3], 2), (-1, [2, 2, 4], 3), (0, None, 1))]


def views():
    def squeeze(b, op, axes):
        data = b.node("Slice", [b.x, *(b.ints(v) for v in (0, 1, 1))]) if op == "Squeeze" and b.opset >= 10 else b.x
        axes = [0] if op == "Squeeze" and b.opset < 10 else axes
        return b.node(op, [data, b.ints(*axes)] if b.opset >= 13 else [data], axes=None if b.opset >= 13 else axes)
    rows = [(1, LAST_OPSET, f"{op} {axes}", lambda b, c=(op, axes): squeeze(b, *c)) for op, axes in (("Squeeze", [0]), ("Squeeze", [1]), ("Squeeze", [0, 1]), ("Unsqueeze", [0]), ("Unsqueeze", [4]), ("Unsqueeze", [0, 2]))]
    rows += [(13, LAST_OPSET, f"Unsqueeze {axes}", lambda b, axes=axes: squeeze(b, "Unsqueeze", axes)) for axes in ([-1], [-2, 0])]
    rows += [(5, LAST_OPSET, f"Reshape {dims}", lambda b, dims=dims: b.node("Reshape", [b.x, b.ints(*dims)])) for dims in ([1, -1], [1, 2, 2, 8, 8], [0, 2, -1, 4])]
    rows += [(1, LAST_OPSET, f"Transpose {perm}", lambda b, perm=perm: b.node("Transpose", [b.x], perm=perm)) for perm in ([0, 2, 3, 1], [0, 1, 3, 2], None, [3, 2, 1, 0])]
    rows += [(9 if axis < 0 else 1, LAST_OPSET, f"Flatten {axis}", lambda b, axis=axis: b.node("Flatten", [b.x], axis=axis)) for axis in (1, 2, 0)]
    rows += [(8, LAST_OPSET, "Expand", lambda b: b.node("Expand", [b.x, b.ints(2, CHANNELS, SIZE, SIZE)])), (6, LAST_OPSET, "Tile", lambda b: b.node("Tile", [b.x, b.ints(1, 2, 1, 2)]))]
    rows += [(1, LAST_OPSET, "Identity", lambda b: b.node("Identity", [b.x])), (7, LAST_OPSET, "Dropout", lambda b: b.node("Dropout", [b.x]))]
    return rows


def gathers():
    rows = []
    for axis in (0, 1, -1, 2):
        rows.append((1, LAST_OPSET, f"Gather activation {axis}", lambda b, axis=axis: b.node("Gather", [b.x, b.ints(0)], axis=axis)))
    rows.append((1, LAST_OPSET, "Gather scalar", lambda b: b.node("Gather", [b.x, b.constant(1, np.int64)], axis=1)))
    rows.append((1, LAST_OPSET, "Gather table", lambda b: b.node("Add", [b.x, b.node("Gather", [b.constant(b.rng.standard_normal((6, CHANNELS, SIZE, SIZE))), b.ints(2)])])))
    rows.append((11, LAST_OPSET, "GatherElements", lambda b: b.node("GatherElements", [b.x, b.constant(np.zeros((1, CHANNELS, SIZE, 2)), np.int64)], axis=3)))
    rows.append((11, LAST_OPSET, "GatherND", lambda b: b.node("GatherND", [b.x, b.constant([[0, 1]], np.int64)])))
    return rows


def channel_moves():
    rows = []
    for blocksize in (2,):
        for mode in (None, "DCR", "CRD"):
            rows.append((11 if mode else 1, LAST_OPSET, f"DepthToSpace {mode}", lambda b, mode=mode: b.node("DepthToSpace", [b.x], blocksize=blocksize, mode=mode)))
        rows.append((1, LAST_OPSET, "SpaceToDepth", lambda b: b.node("SpaceToDepth", [b.x], blocksize=blocksize)))
    return rows


def joins():
    rows = []
    for axis in (1, 0, -1, 2):
        rows.append((11 if axis < 0 else 4, LAST_OPSET, f"Concat {axis}", lambda b, axis=axis: b.node("Concat", [b.x, b.node("Relu", [b.x])], axis=axis)))
    rows.append((4, LAST_OPSET, "Concat of one", lambda b: b.node("Concat", [b.x], axis=1)))
    rows.append((4, LAST_OPSET, "Concat with constant", lambda b: b.node("Concat", [b.x, b.constant(b.rng.standard_normal((1, 2, SIZE, SIZE)))], axis=1)))
    return rows


def binaries():
    rows = []
    operands = {"scalar": (), "one": (1,), "channel": (CHANNELS, 1, 1), "row": (SIZE,), "full": (1, CHANNELS, SIZE, SIZE), "higher": (2, 1, 1, 1, 1)}
    for op in ("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "PRelu"):
        since = 8 if op in ("Max", "Min") else 7
        for name, dims in operands.items():
            if op == "PRelu" and name == "higher":
                continue
            rows.append((since, LAST_OPSET, f"{op} {name}", lambda b, op=op, dims=dims: b.node(op, [b.x, b.constant(np.abs(b.rng.standard_normal(dims)) + 0.5)])))
        rows.append((since, LAST_OPSET, f"{op} activations", lambda b, op=op: b.node(op, [b.x, b.node("Sigmoid", [b.x])])))
        if op != "PRelu":
            rows.append((since, LAST_OPSET, f"{op} constant first", lambda b, op=op: b.node(op, [b.constant(np.full((CHANNELS, 1, 1), 1.5)), b.x])))
            rows.append((since, LAST_OPSET, f"{op} itself", lambda b, op=op: b.node(op, [b.x, b.x])))
    for op in ("Max", "Min"):
        rows.append((8, LAST_OPSET, f"{op} one", lambda b, op=op: b.node(op, [b.x])))
        rows.append((8, LAST_OPSET, f"{op} three", lambda b, op=op: b.node(op, [b.x, b.node("Sigmoid", [b.x]), b.constant(0.25)])))
    return rows


def clips():
    def clip(b, low, high):
        if b.opset < 11:
            return b.node("Clip", [b.x], min=low, max=high)
        inputs = [b.x, "" if low is None else b.constant(low), "" if high is None else b.constant(high)]
        while not inputs[-1]:
            inputs.pop()
        return b.node("Clip", inputs)
    return [(6, LAST_OPSET, f"Clip {low} {high}", lambda b, c=(low, high): clip(b, *c)) for low, high in ((0.0, 6.0), (-1.0, 1.0), (0.0, None), (None, 1.0), (None, None), (0.1, 0.7))]


def unaries():
    rows = []
    for op, since in (("Relu", 6), ("Sigmoid", 6), ("Tanh", 6), ("Neg", 6), ("Abs", 6), ("Erf", 9), ("HardSwish", 14), ("Softplus", 1), ("Sqrt", 6), ("Exp", 6), ("Floor", 6), ("Sign", 9), ("Elu", 6), ("Mish", 18),
                      ("Softsign", 1), ("GlobalAveragePool", 1), ("GlobalMaxPool", 1), ("ReduceLogSumExp", 20)):
        rows += plain(op, since)
    rows += plain("LeakyRelu", 6, alpha=[None, 0.2, 0.0]) + plain("HardSigmoid", 6, alpha=[None, 1 / 6], beta=[None, 0.4]) + plain("Gelu", 20, approximate=[None, "tanh"])
    rows += plain("LpNormalization", 1, axis=[1, -1], p=[1, 2]) + plain("Softmax", 1, axis=[1]) + plain("Softmax", 13, axis=[-1, 2]) + plain("LogSoftmax", 13, axis=[-1])
    rows += plain("ArgMax", 1, axis=[1], keepdims=[0, 1]) + plain("ArgMax", 12, axis=[-1], select_last_index=[1]) + plain("ArgMin", 1, axis=[1]) + plain("LpPool", 2, kernel_shape=[[2, 2]])
    rows += plain("CumSum", 99) + plain("LRN", 1, size=[3])
    rows.append((11, LAST_OPSET, "CumSum", lambda b: b.node("CumSum", [b.x, b.constant(1, np.int64)])))
    rows.append((13, LAST_OPSET, "TopK", lambda b: b.node("TopK", [b.x, b.ints(2)], 2, axis=1)))
    rows.append((16, LAST_OPSET, "Where", lambda b: b.node("Where", [b.node("Greater", [b.x, b.constant(0.1)]), b.x, b.node("Sigmoid", [b.x])])))
    rows.append((9, LAST_OPSET, "Where constant", lambda b: b.node("Where", [b.constant(np.arange(SIZE) % 2, np.bool_), b.x, b.constant(0.25)])))
    rows.append((9, LAST_OPSET, "Where channels", lambda b: b.node("Where", [b.constant(np.ones((1, 1, SIZE, SIZE)), np.bool_), b.x, b.constant(b.rng.standard_normal((CHANNELS, 1, 1)))])))
    return rows


def layers():
    def conv_transpose(b, group, bias, **more):
        weight = b.constant(b.rng.standard_normal((CHANNELS, 4 // group, 2, 2)) * 0.3)
        return b.node("ConvTranspose", [b.x, weight, *([b.constant(b.rng.standard_normal(4))] if bias else [])], group=group, **more)

    def conv(b, group, bias, **more):
        weight = b.constant(b.rng.standard_normal((4, CHANNELS // group, 3, 3)) * 0.3)
        return b.node("Conv", [b.x, weight, *([b.constant(b.rng.standard_normal(4))] if bias else [])], group=group, **more)

    def conv1d(b, op):
        x = b.node("Reshape", [b.x, b.ints(1, CHANNELS, SIZE * SIZE)])
        return b.node(op, [x, b.constant(b.rng.standard_normal((4, 4, 3)) * 0.3)])

    def conv3d(b):
        x = b.node("Reshape", [b.x, b.ints(1, 2, 2, SIZE, SIZE)])
        return b.node("Conv", [x, b.constant(b.rng.standard_normal((4, 2, 1, 3, 3)) * 0.3)])

    def gemm(b, bias, **more):
        x = b.node("Flatten", [b.x])
        x = b.node("Transpose", [x]) if more.get("transA") else x
        weight = b.rng.standard_normal((CHANNELS * SIZE * SIZE, 5)) * 0.1
        weight = weight.T if more.get("transB") else weight
        return b.node("Gemm", [x, b.constant(weight), *([b.constant(b.rng.standard_normal(bias))] if bias is not None else [])], **more)

    def matmul(b, dims):
        return b.node("MatMul", [b.x, b.constant(b.rng.standard_normal(dims) * 0.3)])

    def norm(b, op, since, dims, **more):
        return b.node(op, [b.x, b.constant(b.rng.standard_normal(dims)), b.constant(b.rng.standard_normal(dims))], **more)
    rows = []
    for group, bias in itertools.product((1, 2, 4), (False, True)):
        rows.append((1, LAST_OPSET, f"ConvTranspose {group} {bias}", lambda b, c=(group, bias): conv_transpose(b, *c, strides=[2, 2])))
        for more in ({}, {"dilations": [2, 2]}, {"auto_pad": "SAME_UPPER", "strides": [2, 2]}):
            rows.append((1, LAST_OPSET, f"Conv {group} {bias} {more}", lambda b, c=(group, bias), more=more: conv(b, *c, **more)))
    for bias in (None, (5,), (1, 5), (1,), ()):
        for more in ({}, {"transB": 1}, {"alpha": 0.5, "beta": 0.25}, {"transA": 1, "transB": 1}):
            if more.get("transA") and bias is None:
                continue
            rows.append((11 if bias is None else 7, LAST_OPSET, f"Gemm {bias} {more}", lambda b, bias=bias, more=dict(more): gemm(b, bias, **more)))
    rows = [row for row in rows if "transA" not in row[2]]
    rows += [(1, LAST_OPSET, f"{op} 1-D", lambda b, op=op: conv1d(b, op)) for op in ("Conv", "ConvTranspose")] + [(1, LAST_OPSET, "Conv 3-D", conv3d)]
    rows += [(1, LAST_OPSET, f"MatMul {dims}", lambda b, dims=dims: matmul(b, dims)) for dims in ((SIZE, 5), (SIZE,), (CHANNELS, SIZE, 3))]
    rows.append((1, LAST_OPSET, "MatMul activations", lambda b: b.node("MatMul", [b.x, b.node("Sigmoid", [b.x])])))
    rows.append((6, LAST_OPSET, "InstanceNormalization", lambda b: norm(b, "InstanceNormalization", 6, (CHANNELS,))))
    rows.append((17, LAST_OPSET, "LayerNormalization", lambda b: norm(b, "LayerNormalization", 17, (SIZE,))))
    rows.append((7, LAST_OPSET, "BatchNormalization", lambda b: b.node("BatchNormalization", [b.x] + [b.constant(np.abs(b.rng.standard_normal(CHANNELS)) + 0.1) for _ in range(4)])))
    return rows


def recipes():
    """[(first opset, last opset, label, function of a Call)]"""
    makers = (average_pools, max_pools, pads, resizes, upsamples, reduces, slices, splits, views, gathers, channel_moves, joins, binaries, clips, unaries, layers)
    return [row for maker in makers for row in maker() if row[0] <= LAST_OPSET]


def build(recipe, opset, with_conv):
    """The model of a recipe, or None where the operator has no such form at that opset."""
    first, last, _, make = recipe
    if not max(first, FIRST_OPSET) <= opset <= last:
        return None
    call = Call(opset)
    return call.model(make(call), with_conv)
