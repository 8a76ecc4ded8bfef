# SPDX-License-Identifier: MIT
"""An exporter that quantizes what it has just exported: VINT8 with a float head, after a check of the installed version.

exporter.py MODEL OUTPUT SAMPLES"""
import re
import sys
from importlib import metadata

import onnx
from samples_reader import FolderReader


def require(name, low, high):
    found = metadata.version(name)
    numbers = tuple(int(part) for part in re.findall(r"\d+", found)[:3])
    if not low <= numbers < high:
        sys.exit(f"{name} {found} is not in {low}..{high}")


def export(model, output, samples):
    require("amd-quark", (0, 13, 0), (0, 14, 0))
    head = [node.name for node in onnx.load(model).graph.node if node.name.startswith("fc")]
    from quark.onnx import ModelQuantizer
    from quark.onnx.quantization.config import Config, get_default_config

    config = get_default_config("VINT8")
    config.enable_npu_cnn = True
    config.print_summary = False
    config.nodes_to_exclude = head
    ModelQuantizer(Config(global_quant_config=config)).quantize_model(str(model), str(output), FolderReader(model, samples))


export(*sys.argv[1:])
