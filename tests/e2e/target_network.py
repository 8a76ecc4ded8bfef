# SPDX-License-Identifier: MIT
"""A network with most of what compilers for NPUs do not take, and samples for it."""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from reference import save_samples


def weight(name, *shape, seed=0):
    return numpy_helper.from_array(np.random.default_rng(seed).uniform(-0.5, 0.5, shape).astype(np.float32), name)


def network(folder, opset=13, batch="N", end="sum"):
    """Two Convs with as few attributes as ONNX allows, a channel shuffle of rank 5, PRelu; nodes without names."""
    ints = lambda name, *values: numpy_helper.from_array(np.array(values, np.int64), name)  # noqa: E731
    weights = [weight("v", 8, 3, 3, 3, seed=1), weight("w", 8, 8, 3, 3, seed=2), weight("slopes", 8, 1, 1, seed=3),
               ints("split", 1 if batch != "N" else -1, 2, 4, 8, 8), ints("join", 1 if batch != "N" else -1, 8, 8, 8)]
    nodes = [helper.make_node("Conv", ["x", "v"], ["a"], auto_pad="SAME_UPPER"), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Reshape", ["b", "split"], ["five"]), helper.make_node("Transpose", ["five"], ["turned"], perm=[0, 2, 1, 3, 4]),
             helper.make_node("Reshape", ["turned", "join"], ["c"]), helper.make_node("Conv", ["c", "w"], ["d"], pads=[1, 1, 1, 1]),
             helper.make_node("PRelu", ["d", "slopes"], ["e"]), helper.make_node("Add", ["e", "b"], ["sum"])]
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)  # noqa: E731
    graph = helper.make_graph(nodes, "g", [value("x", [batch, 3, 8, 8])], [value(end, [batch, 8, 8, 8])], weights)
    path = os.path.join(folder, "net.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return path


def samples(folder, count=8):
    return save_samples(os.path.join(folder, "calib"), count)


def detector(folder):
    """Two heads over a trunk; boxes are decoded by Exp and Slice, scores by Sigmoid, and both are joined."""
    ints = lambda name, *values: numpy_helper.from_array(np.array(values, np.int64), name)  # noqa: E731
    weights = [weight("v", 8, 3, 3, 3, seed=1), weight("boxes_w", 4, 8, 1, 1, seed=2), weight("scores_w", 2, 8, 1, 1, seed=3), weight("anchors", 1, 2, 8, 8, seed=4),
               ints("0", 0), ints("2", 2), ints("4", 4), ints("axis", 1)]
    nodes = [helper.make_node("Conv", ["x", "v"], ["a"], "trunk", pads=[1, 1, 1, 1]), helper.make_node("Relu", ["a"], ["b"], "relu"),
             helper.make_node("Conv", ["b", "boxes_w"], ["boxes"], "box_head"), helper.make_node("Conv", ["b", "scores_w"], ["scores"], "score_head"),
             helper.make_node("Slice", ["boxes", "0", "2", "axis"], ["centers"], "centers"), helper.make_node("Slice", ["boxes", "2", "4", "axis"], ["sizes"], "sizes"),
             helper.make_node("Exp", ["sizes"], ["exp"], "exp"), helper.make_node("Mul", ["exp", "anchors"], ["scaled"], "scale"),
             helper.make_node("Sigmoid", ["scores"], ["p"], "sigmoid"), helper.make_node("Concat", ["centers", "scaled", "p"], ["y"], "join", axis=1)]
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)  # noqa: E731
    graph = helper.make_graph(nodes, "g", [value("x", [1, 3, 8, 8])], [value("y", [1, 6, 8, 8]), value("b", [1, 8, 8, 8])], weights)
    path = os.path.join(folder, "detector.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path
