#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains the bundled example: a small CNN on the 8x8 digits that scikit-learn ships, and writes what quickstart.sh needs.

    python3 -m venv build/train && build/train/bin/pip install scikit-learn numpy onnx
    build/train/bin/python examples/digits/train.py [OUT_FOLDER]

Writes digits.onnx, calib/*.npy (64 training samples), eval/inputs/*.npy (360 held-out samples) and eval/labels.csv. Plain numpy: forward
and backward of Conv -> BatchNormalization -> Relu -> Conv (stride 2) -> Relu -> Flatten -> Gemm stand below. Seeded and
single-threaded; the weights depend on the BLAS in use only in their last digits. Takes seconds.
"""
import os
import shutil
import sys

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"  # before numpy is loaded: sums must not depend on the number of cores

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

SEED = 7
HELD_OUT = 360
CALIBRATION = 64
EPOCHS = 40
BATCH = 32
BATCH_NORM_EPSILON = 1e-5
BATCH_NORM_MOMENTUM = 0.9
REQUIRED_ACCURACY = 0.97


def im2col(x, stride):
    """3x3 windows of x [N, C, H, W] with one pixel of zero padding: [N, C, 3, 3, OH, OW]."""
    n, c, h, w = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    oh, ow = (h - 1) // stride + 1, (w - 1) // stride + 1
    columns = np.empty((n, c, 3, 3, oh, ow), np.float32)
    for i in range(3):
        for j in range(3):
            columns[:, :, i, j] = padded[:, :, i:i + stride * oh:stride, j:j + stride * ow:stride]
    return columns


def col2im(columns, shape, stride):
    """The transpose of im2col: sums the windows back into [N, C, H, W]."""
    n, c, h, w = shape
    oh, ow = columns.shape[-2:]
    padded = np.zeros((n, c, h + 2, w + 2), np.float32)
    for i in range(3):
        for j in range(3):
            padded[:, :, i:i + stride * oh:stride, j:j + stride * ow:stride] += columns[:, :, i, j]
    return padded[:, :, 1:-1, 1:-1]


class Conv:
    def __init__(self, rng, inputs, outputs, stride):
        self.stride = stride
        self.parameters = [(rng.standard_normal((outputs, inputs, 3, 3)) * np.sqrt(2 / (9 * inputs))).astype(np.float32),
                           np.zeros(outputs, np.float32)]

    def forward(self, x, training):
        self.shape = x.shape
        columns = im2col(x, self.stride)
        n, oh, ow = x.shape[0], columns.shape[-2], columns.shape[-1]
        self.columns = columns.transpose(0, 4, 5, 1, 2, 3).reshape(n * oh * ow, -1)
        weights, bias = self.parameters
        y = self.columns @ weights.reshape(len(weights), -1).T + bias
        return y.reshape(n, oh, ow, -1).transpose(0, 3, 1, 2)

    def backward(self, dy):
        n, o, oh, ow = dy.shape
        weights = self.parameters[0]
        flat = dy.transpose(0, 2, 3, 1).reshape(-1, o)
        self.gradients = [(flat.T @ self.columns).reshape(weights.shape), flat.sum(0)]
        columns = (flat @ weights.reshape(o, -1)).reshape(n, oh, ow, weights.shape[1], 3, 3).transpose(0, 3, 4, 5, 1, 2)
        return col2im(columns, self.shape, self.stride)


class BatchNorm:
    """Kept as an operator of its own in the file, so that the quantizer has something to fold."""

    def __init__(self, channels):
        self.parameters = [np.ones(channels, np.float32), np.zeros(channels, np.float32)]
        self.mean, self.variance = np.zeros(channels, np.float32), np.ones(channels, np.float32)

    def forward(self, x, training):
        if training:
            mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
            self.mean = BATCH_NORM_MOMENTUM * self.mean + (1 - BATCH_NORM_MOMENTUM) * mean
            self.variance = BATCH_NORM_MOMENTUM * self.variance + (1 - BATCH_NORM_MOMENTUM) * variance
        else:
            mean, variance = self.mean, self.variance
        self.inverse = 1 / np.sqrt(variance + BATCH_NORM_EPSILON)
        self.normal = (x - mean[:, None, None]) * self.inverse[:, None, None]
        scale, shift = self.parameters
        return self.normal * scale[:, None, None] + shift[:, None, None]

    def backward(self, dy):
        scale = self.parameters[0]
        self.gradients = [(dy * self.normal).sum((0, 2, 3)), dy.sum((0, 2, 3))]
        count = dy.shape[0] * dy.shape[2] * dy.shape[3]
        mean_dy = (self.gradients[1] / count)[:, None, None]
        mean_product = (self.gradients[0] / count)[:, None, None]
        return (scale * self.inverse)[:, None, None] * (dy - mean_dy - self.normal * mean_product)


class Relu:
    parameters, gradients = [], []

    def forward(self, x, training):
        self.positive = x > 0
        return x * self.positive

    def backward(self, dy):
        return dy * self.positive


class Gemm:
    def __init__(self, rng, inputs, outputs):
        self.parameters = [(rng.standard_normal((outputs, inputs)) / np.sqrt(inputs)).astype(np.float32),
                           np.zeros(outputs, np.float32)]

    def forward(self, x, training):
        self.shape = x.shape
        self.flat = x.reshape(len(x), -1)
        return self.flat @ self.parameters[0].T + self.parameters[1]

    def backward(self, dy):
        self.gradients = [dy.T @ self.flat, dy.sum(0)]
        return (dy @ self.parameters[0]).reshape(self.shape)


def forward(layers, x, training=False):
    for layer in layers:
        x = layer.forward(x, training)
    return x


def adam(layers, moments, step, rate):
    """One Adam step; `moments` holds first and second moment of every parameter."""
    index = 0
    for layer in layers:
        for parameter, gradient in zip(layer.parameters, layer.gradients):
            first, second = moments.setdefault(index, [np.zeros_like(parameter), np.zeros_like(parameter)])
            first += 0.1 * (gradient - first)
            second += 0.001 * (gradient * gradient - second)
            parameter -= rate * (first / (1 - 0.9 ** step)) / (np.sqrt(second / (1 - 0.999 ** step)) + 1e-8)
            index += 1


def train(layers, images, labels, rng):
    """Cross entropy with Adam; the rate falls along a half cosine."""
    moments, step = {}, 0
    steps = EPOCHS * (len(images) // BATCH)
    for _ in range(EPOCHS):
        order = rng.permutation(len(images))
        for begin in range(0, len(images) - BATCH + 1, BATCH):
            chosen = order[begin:begin + BATCH]
            step += 1
            logits = forward(layers, images[chosen], training=True)
            odds = np.exp(logits - logits.max(1, keepdims=True))
            gradient = odds / odds.sum(1, keepdims=True)
            gradient[np.arange(BATCH), labels[chosen]] -= 1
            gradient = (gradient / BATCH).astype(np.float32)
            for layer in reversed(layers):
                gradient = layer.backward(gradient)
            adam(layers, moments, step, 0.004 * 0.5 * (1 + np.cos(np.pi * step / steps)))


def export(layers, path):
    """The trained network as ONNX, opset 17, IR 8, dynamic batch."""
    conv1, norm, _, conv2, _, gemm = layers
    tensors = {"conv1_w": conv1.parameters[0], "conv1_b": conv1.parameters[1], "norm_scale": norm.parameters[0],
               "norm_shift": norm.parameters[1], "norm_mean": norm.mean, "norm_variance": norm.variance,
               "conv2_w": conv2.parameters[0], "conv2_b": conv2.parameters[1], "fc_w": gemm.parameters[0], "fc_b": gemm.parameters[1]}
    around = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [
        helper.make_node("Conv", ["image", "conv1_w", "conv1_b"], ["conv1_y"], name="conv1", strides=[1, 1], **around),
        helper.make_node("BatchNormalization", ["conv1_y", "norm_scale", "norm_shift", "norm_mean", "norm_variance"], ["norm_y"],
                         name="norm", epsilon=BATCH_NORM_EPSILON),
        helper.make_node("Relu", ["norm_y"], ["relu1_y"], name="relu1"),
        helper.make_node("Conv", ["relu1_y", "conv2_w", "conv2_b"], ["conv2_y"], name="conv2", strides=[2, 2], **around),
        helper.make_node("Relu", ["conv2_y"], ["relu2_y"], name="relu2"),
        helper.make_node("Flatten", ["relu2_y"], ["flat"], name="flatten", axis=1),
        helper.make_node("Gemm", ["flat", "fc_w", "fc_b"], ["logits"], name="fc", transB=1),
    ]
    graph = helper.make_graph(
        nodes, "digits", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, 8, 8])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", 10])],
        [numpy_helper.from_array(np.ascontiguousarray(value, np.float32), name) for name, value in tensors.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="quarkq examples/digits/train.py")
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


def write_samples(folder, images, names):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name, image in zip(names, images):
        np.save(os.path.join(folder, name), image[None])


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)[:, None]
    labels = digits.target
    rng = np.random.default_rng(SEED)
    order = rng.permutation(len(images))
    test, rest = order[:HELD_OUT], order[HELD_OUT:]
    layers = [Conv(rng, 1, 8, 1), BatchNorm(8), Relu(), Conv(rng, 8, 16, 2), Relu(), Gemm(rng, 16 * 4 * 4, 10)]
    train(layers, images[rest], labels[rest], rng)
    right = int((forward(layers, images[test]).argmax(1) == labels[test]).sum())
    print(f"held-out top-1: {100 * right / HELD_OUT:.2f} % ({right} of {HELD_OUT})")
    if right < REQUIRED_ACCURACY * HELD_OUT:
        sys.exit("train.py: the network is too weak to be shipped")
    export(layers, os.path.join(out, "digits.onnx"))
    names = [f"{index:03d}.npy" for index in range(HELD_OUT)]
    write_samples(os.path.join(out, "calib"), images[rest[:CALIBRATION]], names)
    write_samples(os.path.join(out, "eval", "inputs"), images[test], names)
    with open(os.path.join(out, "eval", "labels.csv"), "w", encoding="ascii") as labels_file:
        labels_file.write("file,label\n")
        labels_file.writelines(f"{name},{label}\n" for name, label in zip(names, labels[test]))


if __name__ == "__main__":
    main()
