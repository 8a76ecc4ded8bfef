#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records what the reference makes of the models of this folder: record.py [--only REGEX].

Runs in an environment of its own that has the reference: pip install amd-quark==0.13 and the versions named in ORIGIN.md. Writes
<model>.<case>.json in the form of describe.py; cases are presets of the reference, or a preset with changes.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

# Case -> preset, changed fields of the quantization config, changed extra options.
CASES = {
    "XINT8": ("XINT8", {}, {}), "VINT8": ("VINT8", {}, {}), "A8W8": ("A8W8", {}, {}), "A16W8": ("A16W8", {}, {}), "BF16": ("BF16", {}, {}),
    "BFP16": ("BFP16", {}, {}),
}
# Cases of single models beside those.
MORE_CASES = {
    "shared_norm": {"A8W8_float_biases": ("A8W8", {}, {"QuantizeBias": False}), "XINT8_float_biases": ("XINT8", {}, {"QuantizeBias": False})},
    "transformer": {"A8W8_float_biases": ("A8W8", {}, {"QuantizeBias": False})},
    "branches": {"A8W8_until": ("A8W8", {"output_nodes": ["Relu_4"]}, {}), "A8W8_from": ("A8W8", {"input_nodes": ["Conv_5"]}, {})},
    "spelled_norm": {"A8W8_spelled": ("A8W8", {}, {"FuseLayerNorm": False}), "XINT8_spelled": ("XINT8", {}, {"FuseLayerNorm": False})},
}
# Two formats in one model, around pools, Resize and biases of LayerNormalization.
MIXED = {name: (name, {}, {}) for name in ("S16S16_MIXED_S8S8", "BF16_MIXED_BFP16", "BF16_MIXED_MXINT8")}
_FP8 = {"activation_type": "QuantType.QFLOAT8E4M3FN", "weight_type": "QuantType.QFLOAT8E4M3FN", "calibrate_method": "CalibrationMethod.Distribution"}
FP8 = {f"FP8_{scenario}": ("S8S8_AAWS", _FP8, {"Scenario": scenario}) for scenario in ("same", "p3")}
MXFP8 = {name: (name, {}, {}) for name in ("MXFP8E4M3", "MXFP8E5M2")}
for _model in ("plain_cnn", "transformer", "encoder_decoder", "shared_norm"):
    MORE_CASES.setdefault(_model, {}).update(FP8)
for _model in ("transformer", "encoder_decoder", "shared_norm"):
    MORE_CASES.setdefault(_model, {}).update(MXFP8)
for _model in ("branches", "encoder_decoder", "transformer", "shared_norm"):
    MORE_CASES.setdefault(_model, {}).update(MIXED)
VERSION = "amd-quark 0.13"


def cases_of(model):
    return {**CASES, **MORE_CASES.get(model, {})}


def typed(value):
    """What the reference takes for "QuantType.QInt8" and "CalibrationMethod.MinMax"."""
    from onnxruntime.quantization import CalibrationMethod, QuantType
    enums = {"QuantType": QuantType, "CalibrationMethod": CalibrationMethod}
    kind, _, name = value.partition(".") if isinstance(value, str) else ("", "", "")
    return getattr(enums[kind], name) if kind in enums else value


def quantize(model, case, out):
    """One model in this process, as the reference's users do it."""
    import numpy as np
    from onnxruntime.quantization import CalibrationDataReader
    from quark.onnx import ModelQuantizer
    from quark.onnx.quantization.config import Config, get_default_config

    class Samples(CalibrationDataReader):
        def __init__(self, folder):
            names = sorted(os.listdir(folder))
            if names[0].endswith(".npy"):
                import onnx
                only = onnx.load(os.path.join(HERE, model + ".onnx")).graph.input[0].name
                feeds = [{only: np.load(os.path.join(folder, name))} for name in names]
            else:
                feeds = [{name: np.load(os.path.join(folder, name, file)) for name in names} for file in sorted(os.listdir(os.path.join(folder, names[0])))]
            self.feeds = iter(feeds)

        def get_next(self):
            return next(self.feeds, None)

    preset, fields, options = cases_of(model)[case]
    config = get_default_config(preset)
    for name, value in fields.items():
        setattr(config, name, typed(value))
    config.extra_options.update(options)
    quantizer = ModelQuantizer(Config(global_quant_config=config))
    quantizer.quantize_model(os.path.join(HERE, model + ".onnx"), out, Samples(os.path.join(HERE, "inputs", model)))


def short(value):
    """Nine significant digits: enough for float32."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {key: short(inner) for key, inner in value.items()}
    return [short(inner) for inner in value] if isinstance(value, list) else value


def reduced(described):
    """Without what the tensors tell already, and without stored tensors that nothing reads."""
    from describe import is_pair_node, is_sorted
    read = {name for node in described["nodes"] for name in node[3]}
    nodes = [node for node in described["nodes"] if not is_pair_node(node)]
    stored = {name: tensor for name, tensor in described["stored"].items() if name in read}
    return {**described, "nodes": nodes, "without_pair_nodes": True,
            "is_sorted": is_sorted(described["nodes"]), "stored": stored}


def record(model, case):
    import onnx
    from describe import describe_all
    preset, fields, options = cases_of(model)[case]
    recording = {"model": model + ".onnx", "case": case, "reference": VERSION, "preset": preset, "inputs": model}
    recording.update({"fields": fields} if fields else {}, **({"extra_options": options} if options else {}))
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.onnx")
        run = subprocess.run([sys.executable, os.path.abspath(__file__), "--one", model, case, out], capture_output=True, text=True, cwd=folder)
        if os.path.exists(out):
            recording.update(reduced(describe_all(onnx.load(out))))
        else:
            lines = [line for line in (run.stderr + run.stdout).splitlines() if "Error" in line]
            recording["reference_failed"] = lines[-1][:200] if lines else f"exit code {run.returncode}"
    with open(os.path.join(HERE, f"{model}.{case}.json"), "w") as file:
        json.dump(short(recording), file, separators=(",", ":"))
        file.write("\n")
    return recording.get("reference_failed", f"{len(recording.get('tensors', ()))} tensors")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--one", nargs=3, metavar=("MODEL", "CASE", "OUT"))
    options = parser.parse_args()
    if options.one:
        return quantize(*options.one)
    for name in sorted(os.listdir(HERE)):
        model, extension = os.path.splitext(name)
        for case in cases_of(model) if extension == ".onnx" else ():
            if re.search(options.only, f"{model} {case}"):
                print(model, case, record(model, case), flush=True)


if __name__ == "__main__":
    main()
