# SPDX-License-Identifier: MIT
"""A pass of a workflow tool: everything comes from a JSON file, and classes are looked up by name.

workflow_pass.py MODEL OUTPUT SAMPLES JSON"""
import json
import sys

from quark import __version__ as found_version
from quark.onnx import ExtendedQuantType, ModelQuantizer, QuantType
from quark.onnx.quantization.config.algorithm import AdaQuantConfig, AdaRoundConfig, AlgoConfig, CLEConfig, SmoothQuantConfig
from quark.onnx.quantization.config.config import QConfig
from quark.onnx.quantization.config.spec import CalibMethod, QLayerConfig, QuantGranularity, ScaleType
from samples_reader import FolderReader

ENUMERATORS = {"scale_type": ScaleType, "calibration_method": CalibMethod, "quant_granularity": QuantGranularity}
ALGORITHMS = {"cle": CLEConfig, "smooth_quant": SmoothQuantConfig, "adaround": AdaRoundConfig, "adaquant": AdaQuantConfig}
TYPES = {"Int8": QuantType.QInt8, "Int16": QuantType.QInt16, "BFloat16": ExtendedQuantType.QBFloat16}


def layer(values):
    for spec in values.values():
        for key, kind in ENUMERATORS.items():
            if key in spec:
                spec[key] = f"{kind.__name__}.{getattr(kind, spec[key]).name}"
    return QLayerConfig.from_dict(values)


def algorithm(values):
    made = ALGORITHMS[values.pop("name")]()
    if not isinstance(made, AlgoConfig):
        sys.exit("not an algorithm")
    for name, value in values.items():
        setattr(made, name, value)
    return made


def options(values):
    overrides = values.get("TensorQuantOverrides", {})
    for rows in overrides.values():
        for row in rows:
            row["quant_type"] = TYPES[row["quant_type"]]
    return values


def main(model, output, samples, settings):
    if tuple(map(int, found_version.split("+")[0].split("."))) < (0, 10, 0):
        sys.exit("too old")
    with open(settings, encoding="utf-8") as file:
        values = json.load(file)
    config = QConfig(global_config=layer(values["global_config"]), specific_layer_config=None, layer_type_config=None, exclude=values["exclude"],
                     algo_config=[algorithm(one) for one in values["algo_config"]], **options(values["extra_options"]))
    ModelQuantizer(config).quantize_model(model, output, FolderReader(model, samples))


main(*sys.argv[1:])
