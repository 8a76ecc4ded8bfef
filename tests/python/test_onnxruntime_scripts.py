# SPDX-License-Identifier: MIT
"""Scripts for onnxruntime.quantization change one import: results load in ONNX Runtime, and are at least as good as its own."""
import contextlib
import csv
import inspect
import io
import json
import logging
import os
import re

import numpy as np
import onnx
import onnxruntime
import onnxruntime.quantization as theirs

import quarkq
from quarkq.compat import onnxruntime as ours

from harness import expect, expect_equal, quantize, read_bytes, temp_folder, test
from samples import DIGITS, DIGITS_MODEL, digits

CALIB = os.path.join(DIGITS, "calib")
logging.disable(logging.WARNING)  # its advice about pre-processing
# Both sides round weights of networks that differ in folded nodes, so their noise differs by chance.
MOST_LOSS_DB = 0.2
NAMES = "CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static"
SCRIPT = """
import numpy as np
from {module} import {names}

class Reader(CalibrationDataReader):
    def __init__(self, images):
        self.images = iter([{{"image": image}} for image in images])

    def get_next(self):
        return next(self.images, None)

    def rewind(self):
        pass

quantize_static(model_input, model_output, Reader(images), {arguments})
"""
CASES = {
    "defaults": "",
    "per_channel": "per_channel=True, weight_type=QuantType.QInt8",
    "unsigned": "quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8",
    "entropy": "calibrate_method=CalibrationMethod.Entropy",
    "percentile": "calibrate_method=CalibrationMethod.Percentile, extra_options={'CalibPercentile': 99.99}",
    "qoperator": "quant_format=QuantFormat.QOperator, activation_type=QuantType.QUInt8",
    "symmetric": "extra_options={'ActivationSymmetric': True, 'WeightSymmetric': True}",
    "seven_bits": "reduce_range=True, activation_type=QuantType.QUInt8",
    "excluded": "nodes_to_exclude=['fc'], extra_options={'DedicatedQDQPair': True}",
    "conv": "op_types_to_quantize=['Conv'], extra_options={'AddQDQPairToWeight': True}",
    "overrides": "extra_options={'TensorQuantOverrides': {'relu1_y': [{'quant_type': QuantType.QUInt8, 'symmetric': False}]}}",
}


class Reader:
    """A reader that is not derived from a class of ours."""

    def __init__(self):
        self.left = iter(digits())

    def get_next(self):
        image = next(self.left, None)
        return None if image is None else {"image": image}


def run_script(module, arguments, output):
    text = SCRIPT.format(module=module, names=NAMES, arguments=arguments)
    exec(compile(text, "script", "exec"), {"__name__": "script", "model_input": DIGITS_MODEL, "model_output": output, "images": digits()})  # pylint: disable=exec-used


def logits(model):
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    with open(os.path.join(DIGITS, "eval", "labels.csv"), encoding="ascii") as file:
        rows = [tuple(row.values()) for row in csv.DictReader(file)]
    images = [np.load(os.path.join(DIGITS, "eval", "inputs", name if name.endswith(".npy") else name + ".npy")) for name, _ in rows]
    return np.concatenate([session.run(None, {"image": image})[0] for image in images]), np.array([int(label) for _, label in rows])


def scores(model):
    """(top-1 on the labels, SQNR in dB against the float model)"""
    (found, labels), (exact, _) = logits(model), logits(DIGITS_MODEL)
    return float((found.argmax(1) == labels).mean()), float(10 * np.log10((exact ** 2).sum() / ((exact - found) ** 2).sum()))


@test(cases=sorted(CASES))
def a_script_is_at_least_as_good_as_with_onnxruntime(name):
    with temp_folder() as folder:
        paths = [os.path.join(folder, side + ".onnx") for side in ("ours", "theirs")]
        run_script("quarkq.compat.onnxruntime", CASES[name], paths[0])
        with contextlib.redirect_stdout(io.StringIO()):  # its progress
            run_script("onnxruntime.quantization", CASES[name], paths[1])
        (top1, sqnr), (their_top1, their_sqnr) = map(scores, paths)
    expect(top1 >= their_top1 and sqnr >= their_sqnr - MOST_LOSS_DB, f"top-1 {top1:.4f}, {sqnr:.2f} dB; ONNX Runtime's quantizer has {their_top1:.4f}, {their_sqnr:.2f} dB")
    return f"top-1 {top1:.4f} and {their_top1:.4f}, {sqnr:.2f} dB and {their_sqnr:.2f} dB"


@test()
def dynamic_quantization_gives_the_same_accuracy():
    with temp_folder() as folder:
        paths = [os.path.join(folder, side + ".onnx") for side in ("ours", "theirs")]
        ours.quantize_dynamic(DIGITS_MODEL, paths[0], weight_type=ours.QuantType.QUInt8)
        theirs.quantize_dynamic(DIGITS_MODEL, paths[1], weight_type=theirs.QuantType.QUInt8)
        (top1, sqnr), (their_top1, their_sqnr) = map(scores, paths)
        expect("ConvInteger" in {node.op_type for node in onnx.load(paths[0]).graph.node}, "no operator on integers")
    expect(top1 >= their_top1 and sqnr > their_sqnr - 0.01, f"{top1}, {sqnr} dB; {their_top1}, {their_sqnr} dB")
    return f"top-1 {top1:.4f} and {their_top1:.4f}, {sqnr:.2f} dB and {their_sqnr:.2f} dB"


@test()
def bytes_are_those_of_the_program():
    fields = {"quant_format": "QuantFormat.QDQ", "activation_type": "QuantType.QUInt8", "weight_type": "QuantType.QInt8", "per_channel": True,
              "calibrate_method": "CalibrationMethod.Entropy", "include_cle": False, "include_sq": True, "nodes_to_exclude": ["fc"]}
    options = {"SmoothAlpha": 0.3, "AdjustWeightScaleForInt32Bias": True, "CalibTensorRangeSymmetric": True}
    with temp_folder() as folder:
        found, wanted, settings = (os.path.join(folder, name) for name in ("found.onnx", "wanted.onnx", "settings.json"))
        report = ours.quantize_static(
            DIGITS_MODEL, found, Reader(), activation_type=ours.QuantType.QUInt8, per_channel=True, calibrate_method=theirs.CalibrationMethod.Entropy,
            nodes_to_exclude=["fc"], calibration_providers=["CPUExecutionProvider"],
            extra_options={"SmoothQuant": True, "SmoothQuantAlpha": 0.3, "QDQDisableWeightAdjustForInt32Bias": False, "CalibTensorRangeSymmetric": True,
                           "SmoothQuantFolding": True, "CalibMaxIntermediateOutputs": None, "MinimumRealRange": None})
        expect_equal(report["samples"], len(digits()), "samples")
        with open(settings, "w", encoding="utf-8") as file:
            json.dump({"quant_config": fields, "extra_options": options}, file)
        quantize(DIGITS_MODEL, wanted, CALIB, settings, "--target", "none")
        expect(read_bytes(found) == read_bytes(wanted), "other bytes")


@test()
def configurations_of_both_packages_are_taken():
    static = {"activation_type": "QUInt8", "per_channel": True, "extra_options": {"ActivationSymmetric": True}}
    with temp_folder() as folder:
        paths = []
        for module in (ours, theirs):
            kinds = {**static, "activation_type": module.QuantType[static["activation_type"]]}
            for name, config in (("static", module.StaticQuantConfig(Reader(), **kinds)), ("dynamic", module.DynamicQuantConfig(per_channel=True))):
                paths.append(os.path.join(folder, f"{name}_{module.__name__}.onnx"))
                ours.quantize(DIGITS_MODEL, paths[-1], config)
        expect(read_bytes(paths[0]) == read_bytes(paths[2]), "other bytes with a StaticQuantConfig of ONNX Runtime")
        expect(read_bytes(paths[1]) == read_bytes(paths[3]), "other bytes with a DynamicQuantConfig of ONNX Runtime")
        direct = os.path.join(folder, "direct.onnx")
        ours.quantize_static(onnx.load(DIGITS_MODEL), direct, Reader(), activation_type=ours.QuantType.QUInt8, per_channel=True, extra_options={"ActivationSymmetric": True})
        expect(onnx.load(direct).graph == onnx.load(paths[0]).graph, "another graph without the configuration object")


@test()
def pre_processing_simplifies():
    with temp_folder() as folder:
        output = os.path.join(folder, "simple.onnx")
        ours.quant_pre_process(DIGITS_MODEL, output)
        expect("BatchNormalization" not in {node.op_type for node in onnx.load(output).graph.node}, "BatchNormalization is not folded")


REFUSED = {
    "CalibMaxIntermediateOutputs=8 is not": {"CalibMaxIntermediateOutputs": 8}, "one at a time": {"CalibStridedMinMax": 4}, "TensorQuantOverrides": {"MinimumRealRange": 1e-4},
    "NNAPI": {"extra.Sigmoid.nnapi": True}, "set ActivationSymmetric": {"ActivationRestrictedAsymmetric": True}, "folded where": {"SmoothQuantFolding": False},
    "did you mean ActivationSymmetric?": {"ActivationSymetric": True}, "takes every option of quarkq": {"Zzz": 1}, "matmul_nbits": {"BlockSize": 32},
}


def refusal(function, *arguments, **options):
    try:
        function(DIGITS_MODEL, *arguments, **options)
    except (quarkq.UsageError, TypeError) as error:
        return str(error)
    raise AssertionError(f"{options} is not refused")


@test()
def what_has_no_counterpart_is_refused_by_name():
    with temp_folder() as folder:
        output = os.path.join(folder, "q.onnx")
        for text, options in REFUSED.items():
            message = refusal(ours.quantize_static, output, Reader(), extra_options=options)
            expect(text in message and "extra_options" in message, f"{options}: {message}")
        expect("dynamic" in refusal(ours.quantize_dynamic, output, extra_options={"CalibMovingAverage": True}), "an option of calibration")
        expect("quarkq.calibrate()" in refusal(ours.quantize_static, output, Reader(), calibration_cache_path="c.json"), "a cache")
        expect("reader" in refusal(ours.quantize_static, output), "no reader")
        expect("list of names" in refusal(ours.quantize_static, output, Reader(), nodes_to_exclude="fc"), "a text")
        expect("matmul_nbits" in refusal(ours.quantize, output, object()), "another configuration")
        expect("auto_merge" in refusal(ours.quant_pre_process, output, auto_merge=True), "shape inference")
        expect(not os.path.exists(output), "a file was written")
    for name, text in (("create_calibrator", "quarkq.calibrate()"), ("get_qdq_config", "StaticQuantConfig")):
        try:
            exec(f"from quarkq.compat.onnxruntime import {name}")  # pylint: disable=exec-used
        except ImportError as error:
            expect(text in str(error), str(error))
        else:
            raise AssertionError(f"{name} was found")


@test()
def every_argument_and_documented_option_is_known():
    """Against the ONNX Runtime that is installed: a new option fails here until it is mapped or refused."""
    for name in ("quantize_static", "quantize_dynamic"):
        wanted, found = (list(inspect.signature(getattr(module, name)).parameters) for module in (theirs, ours))
        expect_equal(found, wanted, f"arguments of {name}")
        options = re.findall(r"^ +([\w.]+) = .+:", getattr(theirs, name).__doc__, re.M)
        expect(len(options) > 5, f"{name}: options {options}")
        known = ours._SAME | ours._HANDLED | set(ours._RENAMED) | set(ours._REFUSED)
        expect_equal([option for option in options if option not in known], [], f"unknown options of {name}")
    for kind in ("StaticQuantConfig", "DynamicQuantConfig"):
        wanted, found = (list(inspect.signature(getattr(module, kind)).parameters) for module in (theirs, ours))
        expect_equal(found, wanted, f"arguments of {kind}")
    for kind in ("QuantType", "QuantFormat", "CalibrationMethod"):
        wanted, found = ({one.name: one.value for one in getattr(module, kind)} for module in (theirs, ours))
        expect_equal(found, wanted, kind)
