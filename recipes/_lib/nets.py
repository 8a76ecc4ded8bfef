# SPDX-License-Identifier: MIT
"""Small networks that recipes make: a list of nodes with numpy weights becomes a file below build/recipes/made."""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .fetch import CACHE

OPSET, IR_VERSION = 17, 8


def save(name, nodes, weights, inputs, outputs):
    """`nodes`: (type, inputs, output, attributes); `inputs`, `outputs`: {name: shape} of float tensors. Returns the path."""
    graph = helper.make_graph([helper.make_node(kind, list(reads), [writes], name=writes, **attributes) for kind, reads, writes, attributes in nodes], name,
                              *([helper.make_tensor_value_info(key, TensorProto.FLOAT, shape) for key, shape in values.items()] for values in (inputs, outputs)),
                              [numpy_helper.from_array(np.asarray(value), key) for key, value in weights.items()])
    network = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="recipes/" + name)
    onnx.checker.check_model(network)
    path = os.path.join(CACHE, "made", name + ".onnx")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    onnx.save(network, path)
    return path


def least_squares(features, targets, damping):
    """Weights [features, targets] of a ridge regression; `damping` is relative to the mean square of the features."""
    square = features.T @ features
    return np.linalg.solve(square + damping * np.trace(square) / len(square) * np.eye(len(square)), features.T @ targets)


def adam(parameters, gradients, rate, steps):
    """Changes `parameters` (a dict of arrays) by `steps` steps of Adam; gradients(parameters, step) returns a dict of the same names."""
    mean, square = ({name: np.zeros_like(value) for name, value in parameters.items()} for _ in range(2))
    for step in range(1, steps + 1):
        for name, gradient in gradients(parameters, step).items():
            mean[name] += 0.1 * (gradient - mean[name])
            square[name] += 0.01 * (gradient ** 2 - square[name])
            parameters[name] -= rate * min(1, 3 * (1 - step / (steps + 1))) * (mean[name] / (1 - 0.9 ** step)) / (np.sqrt(square[name] / (1 - 0.99 ** step)) + 1e-8)
    return parameters
