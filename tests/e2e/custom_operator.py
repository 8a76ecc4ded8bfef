# SPDX-License-Identifier: MIT
"""A model with an operator of a user's library, and the ONNX Runtime that knows it."""
import glob
import os
import subprocess

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from harness import ROOT, Skip

HEADER = os.path.join(ROOT, "build", "deps", "onnxruntime", "include")


def runtime():
    """ONNX Runtime's library in the package that the tests use."""
    found = glob.glob(os.path.join(os.path.dirname(onnxruntime.__file__), "capi", "libonnxruntime.so*"))
    if not found:
        raise Skip("this package of onnxruntime has no library of its own")
    return sorted(found)[0]


def library(folder):
    if not os.path.exists(os.path.join(HEADER, "onnxruntime_c_api.h")):
        raise Skip("ONNX Runtime's header was not fetched")
    path = os.path.join(folder, "libcustom.so")
    subprocess.run(["g++", "-std=c++17", "-shared", "-fPIC", "-I", HEADER, os.path.join(ROOT, "tests", "e2e", "custom_op.cpp"), "-o", path], check=True)
    return path


def custom_model():
    """Conv, test.ops::ScaledTanh, Conv, Relu: the types after the custom operator are known to ONNX Runtime alone."""
    random = np.random.default_rng(5)
    nodes = [helper.make_node("Conv", ["x", "w1"], ["a"], "first", pads=[1] * 4), helper.make_node("ScaledTanh", ["a"], ["b"], "custom", domain="test.ops", scale=3.0),
             helper.make_node("Conv", ["b", "w2"], ["c"], "second", pads=[1] * 4), helper.make_node("Relu", ["c"], ["y"], "relu")]
    tensors = [numpy_helper.from_array(random.normal(0, 0.3, shape).astype(np.float32), name) for name, shape in (("w1", (8, 3, 3, 3)), ("w2", (4, 8, 3, 3)))]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 8, 8])], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("test.ops", 1)], ir_version=8)


def prepare(folder):
    model, calib = os.path.join(folder, "m.onnx"), os.path.join(folder, "calib")
    onnx.save(custom_model(), model)
    os.makedirs(calib)
    for i in range(8):
        np.save(os.path.join(calib, f"{i}.npy"), np.random.default_rng(i).normal(0, 1, (1, 3, 8, 8)).astype(np.float32))
    return model, calib


def outputs(path, feed, own):
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(own)
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, {"x": feed})[0]


def with_runtime():
    return {**os.environ, "QUARKQ_ONNXRUNTIME": runtime()}
