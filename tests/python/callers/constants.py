# SPDX-License-Identifier: MIT
"""A layered configuration that the package has as a constant, changed on a copy; without it an older way.

constants.py MODEL OUTPUT SAMPLES NAME"""
import copy
import sys

import quark.onnx
from quark.onnx.quantization.config import custom_config
from samples_reader import FolderReader


def main(model, output, samples, name):
    config = copy.deepcopy(getattr(custom_config, name))
    if isinstance(config, quark.onnx.QConfig):
        config.exclude = ["fc"]
    else:
        config.nodes_to_exclude = ["fc"]
        config = quark.onnx.Config(global_quant_config=config)
    quark.onnx.ModelQuantizer(config).quantize_model(model, output, FolderReader(model, samples))


main(*sys.argv[1:])
