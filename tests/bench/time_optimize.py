#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long preprocessing takes: `quarkq optimize` of each shared model and of a ResNet-50 with random weights (102 MB).

    time_optimize.py [--quarkq BIN] [--output FILE.json]

Seconds are those of the passes, reading and writing the files left out. Targets: 1 s a shared model, 2 s for the ResNet-50.
"""
import argparse
import json
import os
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from compare_ort import ROOT, SHARED, machine, write_report


class Net:
    """A graph that grows at its end, with random weights."""

    def __init__(self):
        self.nodes, self.weights, self.random = [], [], np.random.default_rng(0)

    def constant(self, shape, low=-0.05, high=0.05):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(self.random.uniform(low, high, shape).astype(np.float32), name))
        return name

    def add(self, op, inputs, **attributes):
        out = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [out], name=f"{op}_{len(self.nodes)}", **attributes))
        return out

    def conv_bn(self, x, channels_in, channels_out, kernel, stride, relu=True):
        pad = kernel // 2
        y = self.add("Conv", [x, self.constant((channels_out, channels_in, kernel, kernel))], kernel_shape=[kernel] * 2, strides=[stride] * 2,
                     pads=[pad] * 4)
        parameters = [self.constant((channels_out,), 0.5, 1.5) for _ in range(4)]
        y = self.add("BatchNormalization", [y, *parameters], epsilon=1e-5)
        return self.add("Relu", [y]) if relu else y


def resnet50(path):
    net = Net()
    x = net.add("MaxPool", [net.conv_bn("x", 3, 64, 7, 2)], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for width, blocks, first_stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            y = net.conv_bn(net.conv_bn(x, channels, width, 1, 1), width, width, 3, stride)
            y = net.conv_bn(y, width, 4 * width, 1, 1, relu=False)
            shortcut = net.conv_bn(x, channels, 4 * width, 1, stride, relu=False) if block == 0 else x
            x, channels = net.add("Relu", [net.add("Add", [y, shortcut])]), 4 * width
    x = net.add("Flatten", [net.add("GlobalAveragePool", [x])])
    x = net.add("Gemm", [x, net.constant((1000, 2048)), net.constant((1000,))], transB=1)
    graph = helper.make_graph(net.nodes, "resnet50", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 224, 224])],
                              [helper.make_tensor_value_info(x, TensorProto.FLOAT, [1, 1000])], net.weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def optimize(binary, model, config, folder):
    """(seconds of the passes, seconds of all)."""
    command = [binary, "optimize", model, "--config", config, "-o", os.path.join(folder, "out.onnx"), "--json"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return sum(entry["seconds"] for entry in report["passes"]), report["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quarkq", default=os.path.join(ROOT, "build/release/quarkq"))
    parser.add_argument("--output")
    args = parser.parse_args()
    report = {"machine": machine(), "runs": []}
    with tempfile.TemporaryDirectory() as folder:
        big = os.path.join(folder, "resnet50_random.onnx")
        resnet50(big)
        models = sorted(os.path.join(SHARED, "models", name) for name in os.listdir(os.path.join(SHARED, "models")) if name.endswith(".onnx"))
        for path in [*models, big]:
            for config in ("XINT8", "A8W8"):
                passes, total = optimize(args.quarkq, path, config, folder)
                name = os.path.basename(path)
                target = 2 if path == big else 1
                report["runs"].append({"model": name, "config": config, "mb": os.path.getsize(path) / 1e6, "seconds": passes, "all": total})
                print(f"{name} ({os.path.getsize(path) / 1e6:.0f} MB) {config}: {passes:.3f} s, with files and guard {total:.3f} s (target {target})")
    report["load_after"] = os.getloadavg()
    write_report(args.output, report)


if __name__ == "__main__":
    main()
