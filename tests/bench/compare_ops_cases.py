# SPDX-License-Identifier: MIT
"""The cases of compare_ops.py: operators at the sizes that networks have them in."""
from collections import namedtuple

import numpy as np
from onnx import TensorProto, helper

Case = namedtuple("Case", "name nodes feeds constants outputs image")
RANDOM = np.random.default_rng(0)

IMAGE, BIG_IMAGE = (1, 64, 56, 56), (1, 24, 112, 112)
TOKENS, SCORES = (1, 197, 384), (1, 12, 197, 197)


def floats(*shape, low=-2.0, high=2.0):
    return RANDOM.uniform(low, high, shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def case(name, operator, feeds, constants=(), outputs=("y",), image=False, domain="", **attributes):
    """One node: feeds in order (names x, b, c ... unless a dict), then constants."""
    letters = ["x", "b", "c", "d", "e", "f", "g"]
    feeds = feeds if isinstance(feeds, (list, tuple)) else [feeds]
    feeds = dict(zip(letters, feeds))
    constants = [np.asarray(c) if c is not None else None for c in constants]
    names, kept = list(feeds), {}
    for i, constant in enumerate(constants):
        names.append("" if constant is None else f"k{i}")
        if constant is not None:
            kept[f"k{i}"] = constant
    node = helper.make_node(operator, names, list(outputs), domain=domain, **attributes)
    return Case(f"conv> {name} >conv" if image else name, [node], feeds, kept, list(outputs), image)


def unary_cases():
    x, positive = floats(*IMAGE, low=-4, high=4), floats(*IMAGE, low=0.1, high=9)
    for name in ["Relu", "Sigmoid", "Tanh", "Exp", "Erf", "Sin", "Cos", "HardSwish", "HardSigmoid", "Elu", "Softplus", "Mish",
                 "LeakyRelu", "Abs", "Neg", "Floor", "Round", "Sign", "Softsign", "Gelu"]:
        yield case(f"{name} image", name, x)
    for name in ["Log", "Sqrt", "Reciprocal"]:
        yield case(f"{name} image", name, positive)
    for name in ["Tan", "Atan", "Asin", "Sinh"]:
        yield case(f"{name} image", name, floats(*IMAGE, low=-1, high=1))
    yield case("Gelu tanh tokens", "Gelu", floats(1, 197, 1536), approximate="tanh")
    yield case("Gelu tokens", "Gelu", floats(1, 197, 1536))
    yield case("Clip image", "Clip", x, [np.float32(0), np.float32(6)])
    yield case("IsNaN image", "IsNaN", x)
    yield case("Sigmoid vector", "Sigmoid", floats(1, 1000))
    yield case("Relu", "Relu", x, image=True)
    yield case("HardSwish", "HardSwish", x, image=True)


def binary_cases():
    x, other, channel = floats(*IMAGE), floats(*IMAGE, low=0.5), floats(64, 1, 1)
    for name in ["Add", "Mul", "Sub", "Div", "Max"]:
        yield case(f"{name} same shape", name, [x, other])
    yield case("Add", "Add", x, [floats(*IMAGE)], image=True)
    yield case("Mul per channel", "Mul", x, [channel])
    yield case("Mul per channel", "Mul", x, [channel], image=True)
    yield case("Mul by gate 1x1", "Mul", [x, floats(1, 64, 1, 1)])
    yield case("Mul scalar", "Mul", x, [np.float32(3)])
    yield case("Add last axis", "Add", floats(*TOKENS), [floats(384)])
    yield case("Add mask", "Add", floats(*SCORES), [floats(1, 1, 197, 197)])
    yield case("Mul keeps first axes", "Mul", [floats(*TOKENS), floats(1, 197, 1)])
    yield case("Pow 2", "Pow", x, [np.float32(2)])
    yield case("Pow 0.5", "Pow", floats(*IMAGE, low=0.1), [np.float32(0.5)])
    yield case("Pow 3", "Pow", x, [np.float32(3)])
    yield case("Pow 0.75", "Pow", floats(*IMAGE, low=0.1), [np.float32(0.75)])
    yield case("Pow array", "Pow", [floats(*IMAGE, low=0.1), floats(*IMAGE)])
    yield case("PRelu per channel", "PRelu", x, [channel])
    yield case("PRelu per channel", "PRelu", x, [channel], image=True)
    condition = RANDOM.random(IMAGE) < 0.5
    yield case("Where same shape", "Where", [condition, x, other])
    yield case("Where mask scalar", "Where", [RANDOM.random((1, 1, 197, 197)) < 0.5, floats(*SCORES)], [np.float32(-1e9)])
    yield case("Greater scalar", "Greater", x, [np.float32(0.5)])
    yield case("Equal same shape int64", "Equal", [RANDOM.integers(0, 9, TOKENS), RANDOM.integers(0, 9, TOKENS)])
    yield case("Add int64", "Add", [RANDOM.integers(0, 9, TOKENS), RANDOM.integers(0, 9, TOKENS)])
    yield case("Mod int64", "Mod", [RANDOM.integers(0, 999, TOKENS)], [ints(7)])
    yield case("And bool", "And", [condition, RANDOM.random(IMAGE) < 0.5])
    yield case("Not bool", "Not", condition)
    yield case("Sum of three", "Sum", [x, other, floats(*IMAGE)])


def reduce_cases():
    x, tokens = floats(*IMAGE), floats(*TOKENS)
    for name in ["ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2"]:
        yield case(f"{name} last axis", name, tokens, [ints(-1)])
        yield case(f"{name} spatial", name, x, [ints(2, 3)])
        yield case(f"{name} channels", name, x, [ints(1)])
        yield case(f"{name} everything", name, x)
    yield case("ReduceMean spatial", "ReduceMean", x, [ints(2, 3)], image=True)
    yield case("ReduceMean channels", "ReduceMean", x, [ints(1)], image=True)
    yield case("ReduceMax channels", "ReduceMax", x, [ints(1)], image=True)
    yield case("ReduceMean tokens", "ReduceMean", tokens, [ints(1)])
    yield case("ReduceSum batch and spatial", "ReduceSum", floats(4, 32, 28, 28), [ints(0, 2, 3)])
    yield case("ReduceProd last axis", "ReduceProd", tokens, [ints(-1)])
    yield case("ReduceLogSumExp last axis", "ReduceLogSumExp", tokens, [ints(-1)])
    yield case("ReduceSum int64", "ReduceSum", RANDOM.integers(0, 9, TOKENS), [ints(-1)])
    yield case("ArgMax channels", "ArgMax", floats(1, 21, 128, 128), axis=1)
    yield case("ArgMax last axis", "ArgMax", floats(1, 197, 1000), axis=-1)
    yield case("ArgMax vector", "ArgMax", floats(1, 1000), axis=1)
    yield case("CumSum last axis", "CumSum", tokens, [ints(2)])
    yield case("CumSum tokens", "CumSum", tokens, [ints(1)])


def norm_cases():
    x, tokens, vector = floats(*IMAGE), floats(*TOKENS), floats(64, low=0.5)
    for name in ["Softmax", "LogSoftmax"]:
        yield case(f"{name} scores", name, floats(*SCORES), axis=-1)
        yield case(f"{name} vector", name, floats(1, 1000), axis=-1)
        yield case(f"{name} channels", name, floats(1, 21, 128, 128), axis=1)
        yield case(f"{name} channels", name, x, axis=1, image=True)
    yield case("LayerNormalization", "LayerNormalization", tokens, [floats(384), floats(384)])
    yield case("InstanceNormalization", "InstanceNormalization", x, [vector, vector])
    yield case("InstanceNormalization", "InstanceNormalization", x, [vector, vector], image=True)
    yield case("GroupNormalization", "GroupNormalization", x, [vector, vector], num_groups=8)
    yield case("GroupNormalization", "GroupNormalization", x, [vector, vector], num_groups=8, image=True)
    yield case("BatchNormalization", "BatchNormalization", x, [vector, vector, vector, vector])
    yield case("LRN", "LRN", x, size=5)
    yield case("LRN", "LRN", x, image=True, size=5)
    yield case("LpNormalization last axis", "LpNormalization", tokens, axis=-1)
    yield case("LpNormalization channels", "LpNormalization", x, axis=1)
    yield case("MeanVarianceNormalization", "MeanVarianceNormalization", x)


def move_cases():
    x, tokens, heads = floats(*IMAGE), floats(*TOKENS), floats(1, 197, 12, 32)
    yield case("Transpose 0,2,1", "Transpose", tokens, perm=[0, 2, 1])
    yield case("Transpose 0,2,1,3", "Transpose", heads, perm=[0, 2, 1, 3])
    yield case("Transpose 0,2,3,1", "Transpose", x, perm=[0, 2, 3, 1])
    yield case("Transpose 0,2,3,1 heads", "Transpose", heads, perm=[0, 2, 3, 1])
    yield case("Transpose 0,3,1,2", "Transpose", floats(1, 56, 56, 64), perm=[0, 3, 1, 2])
    yield case("Transpose reversed", "Transpose", x, perm=[3, 2, 1, 0])
    yield case("Transpose shuffle", "Transpose", floats(1, 2, 58, 28, 28), perm=[0, 2, 1, 3, 4])
    yield case("Concat channels", "Concat", [x, floats(*IMAGE)], axis=1)
    yield case("Concat last axis", "Concat", [tokens, floats(*TOKENS)], axis=-1)
    yield case("Split channels", "Split", x, [ints(32, 32)], outputs=("y", "z"), axis=1)
    yield case("Split last axis", "Split", floats(1, 197, 1152), [ints(384, 384, 384)], outputs=("y", "z", "w"), axis=-1)
    yield case("Slice steps 2", "Slice", x, [ints(0, 0), ints(56, 56), ints(2, 3), ints(2, 2)])
    yield case("Slice steps 2", "Slice", x, [ints(0, 0), ints(56, 56), ints(2, 3), ints(2, 2)], image=True)
    yield case("Slice reversed", "Slice", x, [ints(-1), ints(-99), ints(3), ints(-1)])
    yield case("Slice crop", "Slice", x, [ints(2, 2), ints(54, 54), ints(2, 3)])
    pads = ints(0, 0, 2, 2, 0, 0, 2, 2)
    for mode in ["constant", "reflect", "edge"]:
        yield case(f"Pad {mode}", "Pad", x, [pads], mode=mode)
        yield case(f"Pad {mode}", "Pad", x, [pads], image=True, mode=mode)
    yield case("DepthToSpace", "DepthToSpace", x, blocksize=2)
    yield case("DepthToSpace", "DepthToSpace", x, image=True, blocksize=2)
    yield case("DepthToSpace CRD", "DepthToSpace", x, image=True, blocksize=2, mode="CRD")
    yield case("SpaceToDepth", "SpaceToDepth", x, image=True, blocksize=2)
    yield case("Tile", "Tile", tokens, [ints(1, 2, 2)])
    yield case("Expand", "Expand", floats(1, 64, 1, 1), [ints(1, 64, 56, 56)])
    yield case("Expand rows", "Expand", floats(1, 1, 384), [ints(8, 197, 384)])
    yield case("Cast to float16", "Cast", x, to=TensorProto.FLOAT16)
    yield case("Cast from float16", "Cast", x.astype(np.float16), to=TensorProto.FLOAT)
    yield case("Cast to int8", "Cast", x, to=TensorProto.INT8)
    yield case("Cast from int8", "Cast", RANDOM.integers(-128, 127, IMAGE, dtype=np.int8), to=TensorProto.FLOAT)
    yield case("Cast from uint8", "Cast", RANDOM.integers(0, 255, IMAGE, dtype=np.uint8), to=TensorProto.FLOAT)
    yield case("Cast to int64", "Cast", x, to=TensorProto.INT64)
    yield case("Cast from int64", "Cast", RANDOM.integers(0, 99, TOKENS), to=TensorProto.FLOAT)
    yield case("Cast to bool", "Cast", x, to=TensorProto.BOOL)


def gather_cases():
    table, rows = floats(5000, 384), RANDOM.integers(0, 5000, (1, 197))
    tokens = floats(*TOKENS)
    yield case("Gather rows", "Gather", [table, rows], axis=0)
    yield case("Gather last axis", "Gather", [floats(*TOKENS), RANDOM.integers(0, 384, (192,))], axis=-1)
    yield case("Gather one row", "Gather", [tokens], [np.int64(0)], axis=1)
    yield case("GatherND", "GatherND", [table, RANDOM.integers(0, 5000, (197, 1))])
    yield case("GatherND scalars", "GatherND", [floats(197, 384), RANDOM.integers(0, 197, (5000, 2))])
    yield case("GatherElements", "GatherElements", [tokens, RANDOM.integers(0, 197, TOKENS)], axis=1)
    yield case("GatherElements last axis", "GatherElements", [tokens, RANDOM.integers(0, 384, TOKENS)], axis=-1)
    places = RANDOM.permutation(5000)[:197].reshape(197, 1)
    yield case("ScatterND", "ScatterND", [table, places, floats(197, 384)])
    spots = np.argsort(RANDOM.random(TOKENS), axis=1)
    yield case("ScatterElements", "ScatterElements", [tokens, spots, floats(*TOKENS)], axis=1)
    yield case("ScatterElements add", "ScatterElements", [tokens, spots, floats(*TOKENS)], axis=1, reduction="add")
    yield case("TopK last axis", "TopK", floats(1, 8400), [ints(300)], outputs=("y", "z"))
    yield case("TopK rows", "TopK", floats(197, 1000), [ints(5)], outputs=("y", "z"))
    yield case("TopK channels", "TopK", floats(1, 80, 1000), [ints(3)], outputs=("y", "z"), axis=1)
    yield case("NonZero", "NonZero", (RANDOM.random((197, 384)) < 0.3))
    yield case("OneHot", "OneHot", [RANDOM.integers(0, 1000, (197,))], [ints(1000), np.array([0, 1], np.float32)])
    yield case("Trilu", "Trilu", floats(*SCORES), upper=0)


def product_cases():
    tokens = floats(*TOKENS)
    yield case("MatMul tokens weight", "MatMul", tokens, [floats(384, 384)])
    yield case("MatMul tokens weight wide", "MatMul", tokens, [floats(384, 1536)])
    yield case("MatMul small", "MatMul", [floats(16, 16), floats(16, 16)])
    yield case("MatMul dynamic", "MatMul", [floats(197, 384), floats(384, 197)])
    yield case("MatMul batched scores", "MatMul", [floats(1, 12, 197, 32), floats(1, 12, 32, 197)])
    yield case("MatMul batched values", "MatMul", [floats(*SCORES), floats(1, 12, 197, 32)])
    yield case("MatMul vector matrix", "MatMul", floats(1, 1280), [floats(1280, 1000)])
    yield case("MatMul vector matrix dynamic", "MatMul", [floats(1, 384), floats(384, 384)])
    yield case("Gemm", "Gemm", floats(1, 1280), [floats(1000, 1280), floats(1000)], transB=1)
    yield case("Gemm rows", "Gemm", floats(197, 384), [floats(384, 384), floats(384)])
    yield case("Einsum attention", "Einsum", [floats(1, 197, 12, 32), floats(1, 197, 12, 32)], equation="bihd,bjhd->bhij")
    yield case("Einsum values", "Einsum", [floats(*SCORES), floats(1, 197, 12, 32)], equation="bhij,bjhd->bihd")
    for name, gates in [("LSTM", 4), ("GRU", 3), ("RNN", 1)]:
        recurrent = [floats(1, gates * 128, 64, low=-.1, high=.1), floats(1, gates * 128, 128, low=-.1, high=.1)]
        yield case(f"{name} 50 steps", name, floats(50, 1, 64), recurrent, hidden_size=128)


def image_cases():
    x, vector = floats(*IMAGE), floats(64)
    yield case("MaxPool 3x3 s2", "MaxPool", x, image=True, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    yield case("MaxPool 2x2 s2", "MaxPool", x, image=True, kernel_shape=[2, 2], strides=[2, 2])
    yield case("MaxPool 5x5 s1", "MaxPool", floats(1, 128, 20, 20), image=True, kernel_shape=[5, 5], pads=[2, 2, 2, 2])
    yield case("AveragePool 3x3 s1", "AveragePool", x, image=True, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    yield case("AveragePool 2x2 s2", "AveragePool", x, image=True, kernel_shape=[2, 2], strides=[2, 2])
    yield case("GlobalAveragePool", "GlobalAveragePool", x, image=True)
    yield case("GlobalMaxPool", "GlobalMaxPool", x, image=True)
    yield case("MaxPool alone", "MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for mode in ["nearest", "linear", "cubic"]:
        for scale in [2.0, 0.5]:
            scales = np.array([1, 1, scale, scale], np.float32)
            yield case(f"Resize {mode} x{scale}", "Resize", x, [None, scales], image=True, mode=mode)
    yield case("Resize linear x2.0 alone", "Resize", x, [None, np.array([1, 1, 2, 2], np.float32)], mode="linear")
    yield case("Resize nearest x2.0 alone", "Resize", x, [None, np.array([1, 1, 2, 2], np.float32)], mode="nearest")
    yield case("Resize linear align_corners", "Resize", x, [None, None, ints(1, 64, 100, 100)], image=True, mode="linear",
               coordinate_transformation_mode="align_corners")
    yield case("GridSample", "GridSample", [x, floats(1, 56, 56, 2, low=-1, high=1)], mode="linear")


def conv_cases():
    x, pads = floats(*IMAGE), [1, 1, 1, 1]
    yield case("Conv 1x1", "Conv", x, [floats(64, 64, 1, 1)], image=True)
    yield case("Conv 3x3", "Conv", x, [floats(64, 64, 3, 3)], image=True, pads=pads)
    yield case("Conv 3x3 alone", "Conv", x, [floats(64, 64, 3, 3)], pads=pads)
    yield case("Conv 3x3 s2", "Conv", x, [floats(128, 64, 3, 3)], image=True, pads=pads, strides=[2, 2])
    yield case("Conv stem 3x3 s2", "Conv", floats(1, 3, 224, 224), [floats(32, 3, 3, 3)], pads=pads, strides=[2, 2])
    yield case("Conv depthwise 3x3", "Conv", floats(*BIG_IMAGE), [floats(24, 1, 3, 3)], image=True, pads=pads, group=24)
    yield case("Conv depthwise 7x7", "Conv", x, [floats(64, 1, 7, 7)], image=True, pads=[3, 3, 3, 3], group=64)
    yield case("Conv 4 groups", "Conv", x, [floats(64, 16, 3, 3)], image=True, pads=pads, group=4)
    yield case("Conv dilated", "Conv", x, [floats(64, 64, 3, 3)], image=True, pads=[2, 2, 2, 2], dilations=[2, 2])
    yield case("Conv patches 16x16", "Conv", floats(1, 3, 224, 224), [floats(384, 3, 16, 16)], strides=[16, 16])
    yield case("Conv 1-D", "Conv", floats(1, 64, 1000), [floats(64, 64, 3)], pads=[1, 1])
    yield case("Conv 3-D", "Conv", floats(1, 16, 16, 28, 28), [floats(16, 16, 3, 3, 3)], pads=[1] * 6)
    yield case("ConvTranspose 2x2 s2", "ConvTranspose", x, [floats(64, 32, 2, 2)], image=True, strides=[2, 2])
    yield case("ConvTranspose 4x4 s2", "ConvTranspose", x, [floats(64, 32, 4, 4)], image=True, strides=[2, 2], pads=pads)


def quant_cases():
    x = floats(*IMAGE)
    stored, scale = RANDOM.integers(-128, 127, IMAGE, dtype=np.int8), np.float32(0.03)
    scales, zeros = floats(64, low=0.01, high=0.05), np.zeros(64, np.int8)
    yield case("QuantizeLinear tensor", "QuantizeLinear", x, [scale, np.int8(0)])
    yield case("QuantizeLinear channel", "QuantizeLinear", x, [scales, zeros], axis=1)
    yield case("QuantizeLinear uint8", "QuantizeLinear", x, [scale, np.uint8(128)])
    yield case("DequantizeLinear tensor", "DequantizeLinear", stored, [scale, np.int8(0)])
    yield case("DequantizeLinear channel", "DequantizeLinear", stored, [scales, zeros], axis=1)


FAMILIES = [unary_cases, binary_cases, reduce_cases, norm_cases, move_cases, gather_cases, product_cases, image_cases,
            conv_cases, quant_cases]
CASES = [made for family in FAMILIES for made in family()]
