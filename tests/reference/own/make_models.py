#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the small float models of this folder and their calibration inputs: make_models.py [NET...] (needs numpy, onnx).

Seeds are fixed. Files that are there are overwritten; the recordings (record.py) belong to exactly these bytes.
"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = 4


class Net:
    """A graph that grows node by node; every method returns the name of its output."""

    def __init__(self, name, opset=17):
        self.name, self.opset = name, opset
        self.random = np.random.default_rng(sum(name.encode()))
        self.nodes, self.stored, self.inputs, self.outputs = [], [], [], []

    def input(self, name, shape, kind=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name, shape):
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def store(self, array):
        name = f"t{len(self.stored)}"
        self.stored.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weights(self, *shape, spread=None):
        fan = int(np.prod(shape[1:])) if len(shape) > 1 else shape[0]
        return self.store((self.random.standard_normal(shape) * (spread or fan ** -0.5)).astype(np.float32))

    def op(self, op, *inputs, outputs=1, **attributes):
        number = len(self.nodes)
        names = [f"{op}_{number}_out{i if i else ''}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, f"{op}_{number}", **attributes))
        return names[0] if outputs == 1 else names

    def conv(self, x, into, out, kernel=3, bias=True, group=1, **attributes):
        attributes.setdefault("pads", [kernel // 2] * 4)
        terms = [self.weights(out, into // group, kernel, kernel)] + ([self.weights(out, spread=0.3)] if bias else [])
        return self.op("Conv", x, *terms, kernel_shape=[kernel, kernel], group=group, **attributes)

    def norm(self, x, channels):
        scale, mean = self.random.uniform(0.5, 1.5, channels), self.random.uniform(-0.2, 0.2, channels)
        terms = [scale, self.random.uniform(-0.3, 0.3, channels), mean, self.random.uniform(0.5, 1.5, channels)]
        return self.op("BatchNormalization", x, *[self.store(term.astype(np.float32)) for term in terms])

    def clip(self, x, low, high):
        return self.op("Clip", x, self.store(np.float32(low)), self.store(np.float32(high)))

    def linear(self, x, into, out):
        """MatMul and Add."""
        return self.op("Add", self.op("MatMul", x, self.weights(into, out, spread=into ** -0.5)), self.weights(out, spread=0.2))

    def gemm(self, x, into, out):
        return self.op("Gemm", x, self.weights(out, into), self.weights(out, spread=0.2), transB=1)

    def head(self, x, channels, classes):
        self.output(self.gemm(self.op("Flatten", self.op("GlobalAveragePool", x)), channels, classes), [1, classes])

    def save(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.stored)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8, producer_name="quarkq tests")
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, os.path.join(HERE, self.name + ".onnx"))
        for value in self.inputs:
            shape = [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
            folder = os.path.join(HERE, "inputs", self.name, value.name if len(self.inputs) > 1 else "")
            os.makedirs(folder, exist_ok=True)
            for sample in range(SAMPLES):
                if value.type.tensor_type.elem_type == TensorProto.INT64:
                    array = self.random.integers(0, 16, shape)
                else:
                    array = np.round(self.random.standard_normal(shape), 3).astype(np.float32)
                np.save(os.path.join(folder, f"{sample:02}.npy"), array)


def plain_cnn(net):
    x = net.input("x", [1, 3, 12, 12])
    for into, out in ((3, 8), (8, 12)):
        x = net.op("Relu", net.norm(net.conv(x, into, out, bias=False), out))
    net.head(net.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), 12, 5)


def residual(net):
    x = net.op("Relu", net.conv(net.input("x", [1, 4, 10, 10]), 4, 8))
    for _ in range(2):
        inner = net.conv(net.op("Relu", net.norm(net.conv(x, 8, 8, bias=False), 8)), 8, 8)
        x = net.op("Relu", net.op("Add", x, inner))
    net.head(x, 8, 4)


def inverted_residual(net):
    """Clip(0, 6), depthwise Conv, a linear bottleneck: what equalization looks for."""
    x = net.clip(net.conv(net.input("x", [1, 3, 12, 12]), 3, 8, strides=[2, 2]), 0, 6)
    wide = net.clip(net.norm(net.conv(x, 8, 16, kernel=1, bias=False), 16), 0, 6)
    deep = net.clip(net.norm(net.conv(wide, 16, 16, group=16, bias=False), 16), 0, 6)
    net.head(net.op("Add", x, net.conv(deep, 16, 8, kernel=1)), 8, 4)


def branches(net):
    x = net.input("x", [1, 4, 10, 10])
    pooled = net.op("AveragePool", x, kernel_shape=[3, 3], pads=[1] * 4)
    parts = [net.op("Relu", net.conv(x, 4, 6, kernel=1)), net.op("Relu", net.conv(x, 4, 6)), net.conv(pooled, 4, 4, kernel=1)]
    joined = net.op("Concat", *parts, axis=1)
    largest = net.op("MaxPool", joined, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    net.head(net.op("Relu", net.conv(largest, 16, 8)), 8, 4)


def squeeze_excite(net):
    x = net.op("Relu", net.conv(net.input("x", [1, 3, 10, 10]), 3, 8))
    gate = net.op("Relu", net.conv(net.op("GlobalAveragePool", x), 8, 4, kernel=1))
    gated = net.op("Mul", x, net.op("Sigmoid", net.conv(gate, 4, 8, kernel=1)))
    net.output(net.conv(gated, 8, 4, kernel=1), [1, 4, 10, 10])


def encoder_decoder(net):
    x = net.op("Relu", net.conv(net.input("x", [1, 3, 12, 12]), 3, 6))
    small = net.op("Relu", net.conv(net.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), 6, 8))
    up = net.op("Resize", small, "", net.store(np.float32([1, 1, 2, 2])), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    joined = net.op("Concat", x, up, axis=1)
    wide = net.op("Relu", net.conv(joined, 14, 6))
    net.output(net.op("ConvTranspose", wide, net.weights(6, 2, 2, 2), net.weights(2, spread=0.2), kernel_shape=[2, 2], strides=[2, 2]), [1, 2, 24, 24])


def split_and_shuffle(net):
    x = net.op("LeakyRelu", net.conv(net.input("x", [1, 3, 10, 10]), 3, 8), alpha=0.1)
    left, right = net.op("Split", x, net.store(np.int64([4, 4])), outputs=2, axis=1)
    right = net.op("LeakyRelu", net.norm(net.conv(right, 4, 4, group=4, bias=False), 4), alpha=0.1)
    joined = net.op("Concat", left, right, axis=1)
    parts = net.op("Transpose", net.op("Reshape", joined, net.store(np.int64([1, 2, 4, 10, 10]))), perm=[0, 2, 1, 3, 4])
    mixed = net.op("Reshape", parts, net.store(np.int64([1, 8, 10, 10])))
    net.output(net.op("ReduceMean", net.conv(mixed, 8, 5), axes=[2, 3], keepdims=0), [1, 5])


def hard_swish(net):
    x = net.conv(net.input("x", [1, 3, 10, 10]), 3, 8)
    gate = net.clip(net.op("Add", x, net.store(np.float32(3))), 0, 6)
    x = net.op("Div", net.op("Mul", x, gate), net.store(np.float32(6)))
    scale = net.op("HardSigmoid", net.conv(net.op("GlobalAveragePool", x), 8, 8, kernel=1), alpha=0.2, beta=0.5)
    net.head(net.op("HardSwish", net.conv(net.op("Mul", x, scale), 8, 6)), 6, 4)


def transformer(net):
    """One block of attention over 6 tokens of 16 values, two heads; Gelu spelled out."""
    def layer_norm(value):
        return net.op("LayerNormalization", value, net.store(net.random.uniform(0.5, 1.5, 16).astype(np.float32)), net.weights(16, spread=0.1), axis=-1)

    def heads(value, perm):
        return net.op("Transpose", net.op("Reshape", value, net.store(np.int64([1, 6, 2, 8]))), perm=perm)

    x = net.input("x", [1, 6, 16])
    normed = layer_norm(x)
    query, key, value = (heads(net.linear(normed, 16, 16), perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    scores = net.op("Softmax", net.op("Div", net.op("MatMul", query, key), net.store(np.float32(8 ** 0.5))), axis=-1)
    mixed = net.op("Reshape", net.op("Transpose", net.op("MatMul", scores, value), perm=[0, 2, 1, 3]), net.store(np.int64([1, 6, 16])))
    x = net.op("Add", x, net.linear(mixed, 16, 16))
    inner = net.linear(layer_norm(x), 16, 32)
    spread = net.op("Add", net.op("Erf", net.op("Div", inner, net.store(np.float32(2 ** 0.5)))), net.store(np.float32(1)))
    gelu = net.op("Mul", net.op("Mul", inner, spread), net.store(np.float32(0.5)))
    net.output(net.op("Add", x, net.linear(gelu, 32, 16)), [1, 6, 16])


def recurrent(net):
    x = net.input("x", [5, 1, 8])
    state = net.input("state", [1, 1, 12])
    outputs = net.op("GRU", x, net.weights(1, 36, 8, spread=0.3), net.weights(1, 36, 12, spread=0.3), net.weights(1, 72, spread=0.1), "", state,
                     outputs=2, hidden_size=12, linear_before_reset=1)
    flat = net.op("Squeeze", outputs[0], net.store(np.int64([1])))
    net.output(net.op("Sigmoid", net.linear(flat, 12, 6)), [5, 1, 6])
    net.output(net.op("Mul", outputs[1], net.store(np.float32(0.5))), [1, 1, 12])


def matrices(net):
    x = net.input("x", [4, 24])
    x = net.op("Tanh", net.linear(x, 24, 16))
    x = net.op("Relu", net.norm(net.gemm(x, 16, 12), 12))
    net.output(net.op("Softmax", net.linear(x, 12, 6), axis=-1), [4, 6])


def embedding(net):
    tokens = net.input("tokens", [1, 8], TensorProto.INT64)
    x = net.op("Gather", net.weights(16, 12, spread=1), tokens)
    x = net.op("Add", x, net.weights(1, 8, 12, spread=0.5))
    net.output(net.linear(net.op("Relu", net.linear(x, 12, 24)), 24, 16), [1, 8, 16])


def restyle(net):
    """InstanceNormalization, reflecting Pad, PRelu, DepthToSpace."""
    x = net.op("Pad", net.input("x", [1, 3, 8, 8]), net.store(np.int64([0, 0, 1, 1, 0, 0, 1, 1])), mode="reflect")
    x = net.conv(x, 3, 8, pads=[0, 0, 0, 0])
    x = net.op("InstanceNormalization", x, net.store(net.random.uniform(0.5, 1.5, 8).astype(np.float32)), net.weights(8, spread=0.2))
    x = net.op("PRelu", x, net.store(net.random.uniform(0.05, 0.3, (8, 1, 1)).astype(np.float32)))
    net.output(net.op("DepthToSpace", net.op("Sub", net.conv(x, 8, 8), net.op("Max", x, net.store(np.float32(0.1)))), blocksize=2), [1, 2, 16, 16])


def focus(net):
    """Every second row and column, in the orders of YOLOX and YOLOv5 and by one Slice for each axis."""
    def phase(x, row, column):
        lists = ([row, column], [2 ** 63 - 1] * 2, [2, 3], [2, 2])
        return net.op("Slice", x, *[net.store(np.int64(values)) for values in lists])

    def rows(x, row):
        return net.op("Slice", x, *[net.store(np.int64([value])) for value in (row, 2 ** 63 - 1, 2, 2)])

    def columns(x, column):
        return net.op("Slice", x, *[net.store(np.int64([value])) for value in (column, 2 ** 63 - 1, -1, 2)])

    x = net.input("x", [1, 3, 12, 12])
    first = net.op("Concat", *[phase(x, row, column) for column in (0, 1) for row in (0, 1)], axis=1)
    y = net.op("Relu", net.conv(first, 12, 4))
    second = net.op("Concat", *[phase(y, row, column) for row in (0, 1) for column in (0, 1)], axis=1)
    z = net.op("Relu", net.conv(second, 16, 6))
    net.head(z, 6, 4)
    even, odd = rows(y, 0), rows(y, 1)
    apart = net.op("Concat", *[columns(half, column) for half in (even, odd) for column in (1, 0)], axis=1)
    net.output(net.conv(apart, 16, 3, kernel=1), [1, 3, 3, 3])


def unknown_shapes(net):
    """Shapes that only values tell, before and after a LayerNormalization, and biases of zeros."""
    x = net.input("x", ["batch", 4, 6, 6])
    flat_shape = net.op("Concat", net.op("Slice", net.op("Shape", x), *[net.store(np.int64([value])) for value in (0, 2, 0)]), net.store(np.int64([-1])),
                        axis=0)
    tokens = net.op("Transpose", net.op("Reshape", x, flat_shape), perm=[0, 2, 1])
    normed = net.op("LayerNormalization", tokens, net.store(net.random.uniform(0.5, 1.5, 4).astype(np.float32)), net.weights(4, spread=0.1), axis=-1)
    wide = net.op("Add", net.op("MatMul", normed, net.weights(4, 8, spread=0.5)), net.store(np.zeros(8, np.float32)))
    sizes = net.op("Gather", net.op("Shape", wide), net.store(np.int64(0)), axis=0)
    shape = net.op("Concat", net.op("Unsqueeze", sizes, net.store(np.int64([0]))), net.store(np.int64([6, 6, 2, 4])), axis=0)
    split = net.op("Transpose", net.op("Reshape", wide, shape), perm=[0, 3, 1, 2, 4])
    again = net.op("Concat", net.op("Unsqueeze", sizes, net.store(np.int64([0]))), net.store(np.int64([2, 36, 4])), axis=0)
    pairs = net.op("Reshape", split, again)
    net.output(net.linear(net.op("Softmax", pairs, axis=-1), 4, 5), ["batch", 2, 36, 5])


def fixed_unknowns(net):
    """A static graph whose shapes are not known without following values: zero biases are dropped before a Gemm is made."""
    x = net.input("x", [1, 4, 4, 4])
    flat_shape = net.op("Concat", net.op("Slice", net.op("Shape", x), *[net.store(np.int64([value])) for value in (0, 2, 0)]), net.store(np.int64([-1])),
                        axis=0)
    tokens = net.op("Transpose", net.op("Reshape", x, flat_shape), perm=[0, 2, 1])
    tokens = net.op("Add", tokens, net.weights(1, 16, 4, spread=0.3))
    wide = net.op("Add", net.op("MatMul", tokens, net.weights(4, 8, spread=0.5)), net.store(np.zeros(8, np.float32)))
    net.output(net.linear(net.op("Relu", wide), 8, 6), [1, 16, 6])


def flat_norm(net):
    """A flattened batch whose name is lost, and a Reshape that divides by that name: the zero biases after it stay."""
    x = net.input("x", ["batch", 6, 4])
    batch = net.op("Gather", net.op("Shape", x), net.store(np.int64(0)), axis=0)
    wide = net.op("MatMul", x, net.weights(4, 8, spread=0.5))
    normed = net.norm(net.op("Flatten", wide, axis=2), 8)
    shape = net.op("Concat", net.op("Unsqueeze", batch, net.store(np.int64([0]))), net.store(np.int64([6, 2, -1])), axis=0)
    heads = net.op("Transpose", net.op("Reshape", normed, shape), perm=[0, 2, 1, 3])
    biased = net.op("Add", heads, net.store(np.zeros((1, 2, 6, 1), np.float32)))
    net.output(net.linear(net.op("Softmax", biased, axis=-1), 4, 5), ["batch", 2, 6, 5])


def parted_heads(net):
    """Attention whose keys and values are parted after a Transpose; their shape comes from values, which ONNX Runtime does not follow."""
    def shaped(value, dims):
        return net.op("Reshape", value, net.op("Concat", net.op("Slice", sizes, *[net.store(np.int64([i])) for i in (0, 1)]), net.store(np.int64(dims)), axis=0))

    x, z = net.input("x", ["batch", 6, 8]), net.input("z", ["rows", 6, 8])
    sizes = net.op("Shape", z)
    normed = net.op("LayerNormalization", x, net.store(net.random.uniform(0.5, 1.5, 8).astype(np.float32)), net.weights(8, spread=0.1), axis=-1)
    turned = net.op("Transpose", shaped(net.linear(normed, 8, 16), [-1, 2, 1, 8]), perm=[2, 0, 3, 1, 4])
    parts = net.op("Split", turned, net.store(np.int64([1, 1])), outputs=2, axis=0)
    keys, values = (net.op("Squeeze", part, net.store(np.int64([0]))) for part in parts)
    query = net.op("Transpose", shaped(net.linear(z, 8, 8), [-1, 1, 8]), perm=[0, 2, 1, 3])
    scores = net.op("Softmax", net.op("MatMul", query, net.op("Transpose", keys, perm=[0, 1, 3, 2])), axis=-1)
    net.output(net.linear(net.op("MatMul", scores, values), 8, 4), ["batch", 1, 6, 4])


def shared_norm(net):
    """One bias for a LayerNormalization and two Gemms, before one and after the other."""
    x = net.input("x", [4, 8])
    bias = net.weights(8, spread=0.3)
    x = net.op("Gemm", x, net.weights(8, 8), bias, transB=1)
    x = net.op("LayerNormalization", x, net.store(net.random.uniform(0.5, 1.5, 8).astype(np.float32)), bias, axis=-1)
    x = net.op("Gemm", net.op("Relu", x), net.weights(8, 8), bias, transB=1)
    net.output(net.gemm(x, 8, 3), [4, 3])


def inner_outputs(net):
    """What equalization scales although it changes the function: an output inside a pair, blocks of channels inside a triple."""
    x = net.op("Relu", net.conv(net.input("x", [1, 3, 10, 10]), 3, 8))
    net.output(x, [1, 8, 10, 10])
    x = net.op("Add", net.conv(x, 8, 8), net.op("Sigmoid", net.conv(net.op("Neg", x), 8, 8, kernel=1)))
    x = net.op("Relu", net.conv(x, 8, 12, kernel=1))
    x = net.op("Relu", net.conv(x, 12, 12, group=3))
    net.head(net.conv(x, 12, 6, kernel=1), 6, 4)


def spelled_norm(net):
    """LayerNormalization in single operators, beside a product."""
    x = net.linear(net.input("x", [1, 5, 8]), 8, 8)
    apart = net.op("Sub", x, net.op("ReduceMean", x, axes=[-1]))
    spread = net.op("ReduceMean", net.op("Pow", apart, net.store(np.float32(2))), axes=[-1])
    normed = net.op("Div", apart, net.op("Sqrt", net.op("Add", spread, net.store(np.float32(1e-5)))))
    normed = net.op("Add", net.op("Mul", normed, net.store(net.random.uniform(0.5, 1.5, 8).astype(np.float32))), net.weights(8, spread=0.1))
    net.output(net.linear(normed, 8, 6), [1, 5, 6])


def reciprocal_norm(net):
    """Normalization by a reciprocal, with the product on either side; the last reciprocal has two readers."""
    x = net.linear(net.input("x", [1, 5, 8]), 8, 8)
    one, epsilon, two = net.store(np.float32(1)), net.store(np.float32(1e-5)), net.store(np.float32(2))

    def reciprocal(x):
        spread = net.op("ReduceMean", net.op("Pow", x, two), axes=[-1])
        return net.op("Div", one, net.op("Sqrt", net.op("Add", spread, epsilon)))

    x = net.linear(net.op("Mul", x, reciprocal(x)), 8, 8)
    x = net.linear(net.op("Mul", reciprocal(x), x), 8, 8)
    shared = reciprocal(x)
    net.output(net.linear(net.op("Add", net.op("Mul", x, shared), shared), 8, 6), [1, 5, 6])


def counted_shapes(net):
    """Positions by Range and Tile, whose shapes are followed up to a LayerNormalization; behind it one shape for two Reshapes, and products by ones
    whose shapes have invented names."""
    numbers = [net.store(np.int64(value)) for value in (0, 1)]
    first, minus_one = net.store(np.int64([0])), net.store(np.int64([-1]))
    one, width = (net.store(np.int64([value])) for value in (1, 2))

    def dimension(sizes, place):
        return net.op("Unsqueeze", net.op("Gather", sizes, numbers[place], axis=0), first)

    x = net.input("x", ["batch", 5, 8])
    sizes = net.op("Shape", x)
    counted = net.op("Range", numbers[0], net.op("Gather", sizes, numbers[1], axis=0), numbers[1])
    places = net.op("Unsqueeze", net.op("Cast", counted, to=TensorProto.FLOAT), net.store(np.int64([0, 2])))
    tiled = net.op("Tile", places, net.op("Concat", dimension(sizes, 0), one, one, axis=0))
    x = net.op("Reshape", net.op("Add", x, tiled), net.op("Concat", dimension(sizes, 0), minus_one, net.store(np.int64([8])), axis=0))
    zeros = net.store(np.zeros(8, np.float32))
    x = net.op("Add", net.op("MatMul", x, net.weights(8, 8, spread=0.4)), zeros)
    normed = net.op("LayerNormalization", x, net.store(net.random.uniform(0.5, 1.5, 8).astype(np.float32)), net.weights(8, spread=0.1), axis=-1)
    after = net.op("Shape", normed)
    heads = net.op("Concat", dimension(after, 0), dimension(after, 1), width, net.store(np.int64([4])), axis=0)
    keys, values = (net.op("Transpose", net.op("Reshape", net.linear(normed, 8, 8), heads), perm=perm) for perm in ((0, 2, 3, 1), (0, 2, 1, 3)))
    scores = net.op("Mul", net.op("MatMul", keys, values), net.store(np.ones((2, 1, 1), np.float32)))
    joined = net.op("Concat", dimension(after, 0), width, net.store(np.int64([16])), axis=0)
    merged = net.op("Mul", net.op("Reshape", scores, joined), net.store(np.ones(16, np.float32)))
    net.output(net.linear(merged, 16, 4), ["batch", 2, 4])


def expanded_token(net):
    """A stored token for each sample, as PyTorch exports it: Expand to Where(shape is -1, 1, shape); products by ones behind it."""
    first = net.store(np.int64([0]))
    x = net.input("x", ["batch", 5, 8])
    batch = net.op("Unsqueeze", net.op("Gather", net.op("Shape", x), net.store(np.int64(0)), axis=0), first)
    shape = net.op("Reshape", net.op("Concat", batch, net.store(np.int64([-1])), net.store(np.int64([8])), axis=0), net.store(np.int64([-1])))
    ones = net.op("ConstantOfShape", net.op("Shape", shape), value=numpy_helper.from_array(np.int64([1])))
    wanted = net.op("Where", net.op("Equal", shape, net.op("Mul", ones, net.store(np.int64(-1)))), ones, shape)
    token = net.op("Expand", net.weights(1, 1, 8, spread=0.5), wanted)
    x = net.op("Concat", token, net.linear(x, 8, 8), axis=1)
    x = net.op("Mul", net.op("Relu", x), net.store(np.ones(8, np.float32)))
    x = net.op("Add", net.op("MatMul", x, net.weights(8, 6, spread=0.4)), net.store(np.zeros(6, np.float32)))
    heads = net.op("Reshape", x, net.op("Concat", batch, net.store(np.int64([6])), net.store(np.int64([2, 3])), axis=0))
    net.output(net.op("Softmax", heads, axis=-1), ["batch", 6, 2, 3])


NETS = (plain_cnn, residual, inverted_residual, branches, squeeze_excite, encoder_decoder, split_and_shuffle, hard_swish, transformer, recurrent,
        matrices, embedding, restyle, focus, unknown_shapes, fixed_unknowns, flat_norm, parted_heads, shared_norm, inner_outputs, spelled_norm,
        reciprocal_norm, counted_shapes, expanded_token)


def main():
    for build in NETS:
        if sys.argv[1:] and build.__name__ not in sys.argv[1:]:
            continue
        net = Net(build.__name__)
        build(net)
        net.save()


if __name__ == "__main__":
    main()
