#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes models that are large in one respect: make_models.py KIND FILE [--bytes N] [--nodes N] [--side N] [--depth N].

unet    a convolution network with skip connections, weights of --bytes in FILE.data, a small input so that it runs
decoder a decoder-only language model: embedding, RMS normalization, causal attention, gated feed-forward layers
tables  two embedding tables and a small matrix
image   a convolution network with few weights on one image of 3840 x 2160 (--side scales the longer side)
skips   the same with --depth values that are added again in reverse order, an encoder and decoder as RED-Net: they wait for long
chain   --nodes nodes: attention and convolution blocks on small tensors

Weights are random with a fixed seed and are streamed to the data file, so that no more than one of them is in memory.
"""
import argparse
import math
import os

import numpy as np
import onnx
from onnx import TensorProto, helper

SEED = 23
ALIGNMENT = 4096
CHUNK = 1 << 22  # floats generated at a time
OPSET = 17
VOCABULARY, SEQUENCE, HEADS = 32000, 16, 16


class Builder:
    """Nodes and initializers of one model; float weights of 1 KiB and more go to the data file as they are made."""

    def __init__(self, path):
        self.path, self.data_name = path, os.path.basename(path) + ".data"
        self.data = None
        self.random = np.random.default_rng(SEED)
        self.nodes, self.initializers, self.weight_bytes = [], [], 0

    def node(self, op, inputs, **attributes):
        name = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def constant(self, values, dtype):
        name = f"constant_{len(self.initializers)}"
        self.initializers.append(onnx.numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def weight(self, shape, scale):
        """A float32 weight with values of standard deviation `scale`."""
        count = math.prod(shape)
        self.weight_bytes += 4 * count
        if 4 * count < 1024:
            return self.constant((self.random.standard_normal(shape, np.float32) * scale), np.float32)
        name = f"weight_{len(self.initializers)}"
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
        if self.data is None:
            self.data = open(self.path + ".data", "wb")
        offset = self.data.tell() + -self.data.tell() % ALIGNMENT
        self.data.seek(offset)
        for first in range(0, count, CHUNK):
            self.data.write((self.random.standard_normal(min(CHUNK, count - first), np.float32) * np.float32(scale)).data)
        for key, value in (("location", self.data_name), ("offset", offset), ("length", 4 * count)):
            tensor.external_data.add(key=key, value=str(value))
        self.initializers.append(tensor)
        return name

    def save(self, inputs, outputs):
        if self.data is not None:
            self.data.close()
        graph = helper.make_graph(self.nodes, "large", inputs, outputs, self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        with open(self.path, "wb") as file:
            file.write(model.SerializeToString())


def floats(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def conv(b, x, channels_in, channels_out, kernel=3, stride=1):
    weight = b.weight([channels_out, channels_in, kernel, kernel], 1 / math.sqrt(channels_in * kernel * kernel))
    bias = b.weight([channels_out], 0.01)
    pad = kernel // 2
    return b.node("Conv", [x, weight, bias], kernel_shape=[kernel] * 2, pads=[pad] * 4, strides=[stride] * 2)


def swish(b, x):
    return b.node("Mul", [x, b.node("Sigmoid", [x])])


def residual(b, x, channels):
    return b.node("Add", [x, conv(b, swish(b, x), channels, channels)])


def make_unet(path, size):
    """Three levels of w, 2w and 4w channels; w and the number of blocks follow from `size`."""
    b = Builder(path)
    width = 320 if size >= 1 << 29 else 64
    levels = [width, 2 * width, 4 * width]
    per_round = 4 * 9 * sum(2 * c * c for c in levels)  # one block on the way down, one on the way up
    joints = 4 * 9 * sum(levels[i] * levels[i + 1] + 2 * levels[i] * levels[i] + levels[i] * levels[i + 1] for i in range(2))
    blocks = max(1, round((size - joints) / per_round))
    x = conv(b, "x", 4, levels[0])
    skips = []
    for level, channels in enumerate(levels):
        for _ in range(blocks):
            x = residual(b, x, channels)
        if level < 2:
            skips.append(x)
            x = conv(b, x, channels, levels[level + 1], stride=2)
    for level in (2, 1, 0):
        channels = levels[level]
        for _ in range(blocks):
            x = residual(b, x, channels)
        if level > 0:
            below = levels[level - 1]
            x = b.node("Resize", [x, "", b.constant([1, 1, 2, 2], np.float32)], mode="nearest")
            x = b.node("Concat", [conv(b, x, channels, below), skips[level - 1]], axis=1)
            x = conv(b, x, 2 * below, below)
    y = conv(b, x, levels[0], 4)
    b.save([floats("x", [1, 4, 16, 16])], [floats(y, [1, 4, 16, 16])])


def rms_norm(b, x, width):
    mean = b.node("ReduceMean", [b.node("Pow", [x, b.constant(2, np.float32)])], axes=[-1])
    root = b.node("Sqrt", [b.node("Add", [mean, b.constant(1e-5, np.float32)])])
    return b.node("Mul", [b.node("Div", [x, root]), b.weight([width], 0.5)])


def heads(b, x, permutation, width, weight_scale):
    y = b.node("MatMul", [x, b.weight([width, width], weight_scale)])
    y = b.node("Reshape", [y, b.constant([0, SEQUENCE, HEADS, width // HEADS], np.int64)])
    return b.node("Transpose", [y], perm=permutation)


def attention(b, x, width, mask):
    scale = 1 / math.sqrt(width)
    q, k, v = (heads(b, x, p, width, scale) for p in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    scores = b.node("Mul", [b.node("MatMul", [q, k]), b.constant(1 / math.sqrt(width // HEADS), np.float32)])
    weights = b.node("Softmax", [b.node("Add", [scores, mask])], axis=-1)
    y = b.node("Transpose", [b.node("MatMul", [weights, v])], perm=[0, 2, 1, 3])
    y = b.node("Reshape", [y, b.constant([0, SEQUENCE, width], np.int64)])
    return b.node("MatMul", [y, b.weight([width, width], scale)])


def feed_forward(b, x, width, hidden):
    scale = 1 / math.sqrt(width)
    gate = swish(b, b.node("MatMul", [x, b.weight([width, hidden], scale)]))
    up = b.node("MatMul", [x, b.weight([width, hidden], scale)])
    return b.node("MatMul", [b.node("Mul", [gate, up]), b.weight([hidden, width], 1 / math.sqrt(hidden))])


def make_decoder(path, size):
    b = Builder(path)
    width = 2048 if size >= 1 << 29 else 256
    vocabulary = VOCABULARY if width == 2048 else 2000
    hidden = 11 * width // 4
    per_layer = 4 * (4 * width * width + 3 * width * hidden + 2 * width)
    layers = max(1, round((size - 8 * vocabulary * width) / per_layer))
    mask = b.constant(np.triu(np.full((SEQUENCE, SEQUENCE), -1e4), 1)[None, None], np.float32)
    x = b.node("Gather", [b.weight([vocabulary, width], 1), "tokens"])
    for _ in range(layers):
        x = b.node("Add", [x, attention(b, rms_norm(b, x, width), width, mask)])
        x = b.node("Add", [x, feed_forward(b, rms_norm(b, x, width), width, hidden)])
    y = b.node("MatMul", [rms_norm(b, x, width), b.weight([width, vocabulary], 1 / math.sqrt(width))])
    b.save([helper.make_tensor_value_info("tokens", TensorProto.INT64, ["batch", SEQUENCE])],
           [floats(y, ["batch", SEQUENCE, vocabulary])])


def make_image(path, side):
    """Activations of 16 channels at full resolution: 530 MB each for 3840 x 2160."""
    b = Builder(path)
    height = side * 9 // 16 // 4 * 4
    x = b.node("Relu", [conv(b, "x", 3, 16)])
    x = b.node("Add", [x, b.node("Relu", [conv(b, x, 16, 16)])])
    x = b.node("Relu", [conv(b, x, 16, 32, stride=2)])
    x = b.node("Relu", [conv(b, x, 32, 64, stride=2)])
    y = conv(b, x, 64, 8)
    b.save([floats("x", [1, 3, height, side])], [floats(y, [1, 8, height // 4, side // 4])])


def make_skips(path, side, depth):
    """Each value of the way down is added on the way up: `depth` values of 16 channels wait at full resolution, one at half."""
    b = Builder(path)
    height = side * 9 // 16 // 4 * 4
    x, skips = b.node("Relu", [conv(b, "x", 3, 16)]), []
    for _ in range(depth):
        skips.append(x)
        x = b.node("Relu", [conv(b, x, 16, 16)])
    x = b.node("Relu", [conv(b, x, 16, 32, stride=2)])
    half = x
    x = b.node("Relu", [conv(b, x, 32, 64, stride=2)])
    x = b.node("Resize", [b.node("Relu", [conv(b, x, 64, 32)]), "", b.constant([1, 1, 2, 2], np.float32)], mode="nearest")
    x = b.node("Relu", [conv(b, b.node("Add", [x, half]), 32, 16)])
    x = b.node("Resize", [x, "", b.constant([1, 1, 2, 2], np.float32)], mode="nearest")
    for skip in reversed(skips):
        x = b.node("Relu", [conv(b, b.node("Add", [x, skip]), 16, 16)])
    y = b.node("Sigmoid", [conv(b, x, 16, 1)])
    b.save([floats("x", [1, 3, height, side])], [floats(y, [1, 1, height, side])])


def attention_block(b, x):
    """17 nodes on [1, 4, 8]."""
    y = b.node("MatMul", [x, b.weight([8, 8], 0.3)])
    y = b.node("Add", [y, b.weight([8], 0.1)])
    q, k = (b.node("Transpose", [b.node("Reshape", [y, b.constant([1, 4, 2, 4], np.int64)])], perm=p)
            for p in ([0, 2, 1, 3], [0, 2, 3, 1]))
    scores = b.node("Softmax", [b.node("MatMul", [q, k])], axis=-1)
    y = b.node("Transpose", [b.node("MatMul", [scores, q])], perm=[0, 2, 1, 3])
    x = b.node("Add", [x, b.node("Reshape", [y, b.constant([1, 4, 8], np.int64)])])
    y = b.node("Relu", [b.node("Add", [b.node("MatMul", [x, b.weight([8, 8], 0.3)]), b.weight([8], 0.1)])])
    return b.node("Tanh", [b.node("Add", [x, y])])


def conv_block(b, x):
    """5 nodes on [1, 4, 8]."""
    y = b.node("Reshape", [x, b.constant([1, 4, 2, 4], np.int64)])
    y = b.node("Relu", [conv(b, y, 4, 4)])
    return b.node("Add", [x, b.node("Reshape", [y, b.constant([1, 4, 8], np.int64)])])


def make_chain(path, nodes):
    b = Builder(path)
    x = b.node("Relu", ["x"])
    while len(b.nodes) < nodes:
        x = conv_block(b, x) if len(b.nodes) % 2 else attention_block(b, x)
    b.save([floats("x", [1, 4, 8])], [floats(x, [1, 4, 8])])


def make_tables(path, size):
    """Two embedding tables of half the size each, read by Gather, and a small matrix."""
    width = 256
    b = Builder(path)
    rows = max(1, size // (2 * 4 * width))
    rows_read = [b.node("Gather", [b.weight([rows, width], 0.02), ids]) for ids in ("tokens", "positions")]
    y = b.node("MatMul", [b.node("Add", rows_read), b.weight([width, width], 1 / math.sqrt(width))])
    b.save([helper.make_tensor_value_info(name, TensorProto.INT64, [1, SEQUENCE]) for name in ("tokens", "positions")],
           [floats(y, [1, SEQUENCE, width])])


def make_samples(model, folder, count):
    """`count` random samples of a model with one float input, as .npy files."""
    os.makedirs(folder, exist_ok=True)
    graph = onnx.load(model, load_external_data=False).graph
    shape = [dim.dim_value for dim in graph.input[0].type.tensor_type.shape.dim]
    random = np.random.default_rng(SEED)
    for i in range(count):
        np.save(os.path.join(folder, f"{i:03}.npy"), random.standard_normal(shape, np.float32))


def make(kind, path, size=1 << 30, nodes=1000, side=3840, depth=6):
    """Writes one model; `size` is the bytes of its weights, approximately."""
    if kind == "unet":
        make_unet(path, size)
    elif kind == "decoder":
        make_decoder(path, size)
    elif kind == "tables":
        make_tables(path, size)
    elif kind == "image":
        make_image(path, side)
    elif kind == "skips":
        make_skips(path, side, depth)
    else:
        make_chain(path, nodes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["unet", "decoder", "tables", "image", "skips", "chain"])
    parser.add_argument("file")
    parser.add_argument("--bytes", type=float, default=1e9, help="of the weights: unet, decoder and tables")
    parser.add_argument("--nodes", type=int, default=1000, help="chain")
    parser.add_argument("--side", type=int, default=3840, help="image, skips: its width")
    parser.add_argument("--depth", type=int, default=6, help="skips: values that wait at full resolution")
    options = parser.parse_args()
    make(options.kind, options.file, int(options.bytes), options.nodes, options.side, options.depth)


if __name__ == "__main__":
    main()
