# SPDX-License-Identifier: MIT
"""Models and samples of these tests."""
import glob
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import ROOT, shared

DIGITS = os.path.join(ROOT, "examples", "digits")
DIGITS_MODEL = os.path.join(DIGITS, "digits.onnx")


def load_folder(folder):
    """The samples of a folder as the program pairs them: arrays, or dicts of arrays for several inputs."""
    files = sorted(glob.glob(os.path.join(folder, "*.npy")))
    if files:
        return [np.load(path) for path in files]
    inputs = sorted(os.listdir(folder))
    names = sorted(os.listdir(os.path.join(folder, inputs[0])))
    return [{name: np.load(os.path.join(folder, name, sample)) for name in inputs} for sample in names]


def digits():
    return load_folder(os.path.join(DIGITS, "calib"))


def golden_inputs(model):
    return shared("golden", "inputs", model, "calib")


def conv_model(side=128, channels=8):
    """Two convolutions on [1, 3, side, side]."""
    rng = np.random.default_rng(7)

    def weight(name, *dims):
        return numpy_helper.from_array(rng.normal(0, 0.2, dims).astype(np.float32), name)
    nodes = [helper.make_node("Conv", ["x", "w1"], ["a"], "first", pads=[1, 1, 1, 1]), helper.make_node("Relu", ["a"], ["b"], "relu"),
             helper.make_node("Conv", ["b", "w2"], ["y"], "second", pads=[1, 1, 1, 1])]
    graph = helper.make_graph(
        nodes, "convs", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, side, side])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, side, side])],
        [weight("w1", channels, 3, 3, 3), weight("w2", 4, channels, 3, 3)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write_conv_model(folder, **options):
    path = os.path.join(folder, "convs.onnx")
    onnx.save(conv_model(**options), path)
    return path


def noise(count, side=128):
    rng = np.random.default_rng(1)
    return [rng.normal(0, 1, (1, 3, side, side)).astype(np.float32) for _ in range(count)]
