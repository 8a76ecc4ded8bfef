# SPDX-License-Identifier: MIT
"""Options about the run itself and its reports: EvalMetrics, DebugMode, CryptoMode, and those of calibration that are seldom used."""
import json
import os

import numpy as np
import onnx
from onnx import numpy_helper

from harness import expect, expect_equal, quarkq, run, temp_folder, test
from reference import DIGITS, onnxruntime_results

MODEL, CALIB, EVAL = (os.path.join(DIGITS, *parts) for parts in (["digits.onnx"], ["calib"], ["eval", "inputs"]))


def quantized(folder, *settings, preset="xint8", name="out", more=(), **options):
    """(path, report) of a run with these settings."""
    out = os.path.join(folder, name + ".onnx")
    sets = [part for setting in settings for part in ("--set", setting)]
    text = quarkq("quantize", MODEL, "--config", preset, "--calib", CALIB, "-o", out, "--json", *sets, *more, **options).stdout
    return out, json.loads(text)


def content(path):
    with open(path, "rb") as file:
        return file.read()


def scales(path):
    model = onnx.load(path)
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    return {node.input[0]: stored[node.input[1]] for node in model.graph.node if node.op_type.endswith("QuantizeLinear")
            and not node.op_type.endswith("DequantizeLinear")}


@test(cases=["EvalDataReader", "evaluation.dir", "--eval"])
def metrics_are_those_of_onnxruntime(source):
    """Cosine and L2 of each sample, as the reference defines them, by an independent implementation."""
    asked = {"EvalDataReader": (["EvalMetrics=true", f"EvalDataReader={EVAL}"], []), "evaluation.dir": ([f"evaluation.dir={EVAL}"], []),
             "--eval": (["EvalMetrics=true"], ["--eval", EVAL])}
    with temp_folder() as folder:
        settings, more = asked[source]
        out, report = quantized(folder, *settings, preset="a8w8", more=more)
        exact, coarse = (onnxruntime_results(path, EVAL) for path in (MODEL, out))
    found = report["eval_metrics"]
    expect_equal((found["samples"], found["folder"]), (len(exact), EVAL), "samples")
    cosines, distances = [], []
    for name, outputs in exact.items():
        one, other = (next(iter(results.values())).ravel().astype(np.float64) for results in (outputs, coarse[name]))
        cosines.append(one @ other / np.linalg.norm(one) / np.linalg.norm(other))
        distances.append(np.linalg.norm(one - other))
    wanted = [np.mean(cosines), np.min(cosines), np.mean(distances), np.max(distances)]
    values = [found[key] for key in ("mean_cosine", "min_cosine", "mean_l2", "max_l2")]
    expect(np.allclose(values, wanted, rtol=1e-3), f"found {values}, ONNX Runtime's outputs give {wanted}")
    return f"cosine {values[0]:.6f} mean, {values[1]:.6f} worst; L2 {values[2]:.4f} mean, {values[3]:.4f} worst on {len(exact)} samples"


@test()
def metrics_are_those_of_evaluate():
    with temp_folder() as folder:
        out, report = quantized(folder, "EvalMetrics=true", f"EvalDataReader={EVAL}")
        wanted = json.loads(quarkq("evaluate", "--float", MODEL, "--quantized", out, "--data", EVAL, "--json").stdout)
    for key, value in report["eval_metrics"].items():
        if key not in ("samples", "folder"):
            expect_equal(value, wanted[key], key)


@test()
def metrics_are_off_by_default_and_use_calibration_samples():
    with temp_folder() as folder:
        expect_equal(quantized(folder, "EvalMetrics=false")[1]["eval_metrics"], None, "metrics that are off")
        found = quantized(folder, "EvalMetrics=true")[1]["eval_metrics"]
        expect_equal((found["samples"], found["folder"]), (64, ""), "samples of the calibration")
        out = os.path.join(folder, "o.onnx")
        text = quarkq("quantize", MODEL, "--config", "xint8", "--calib", CALIB, "--set", "EvalMetrics=true", "-o", out).stdout
        expect("Metrics on 64 samples" in text and "PSNR" in text, "the summary has no metrics")


@test()
def metrics_do_not_change_the_result():
    with temp_folder() as folder:
        plain = content(quantized(folder)[0])
        expect(content(quantized(folder, "EvalMetrics=true", "debug_mode=true")[0]) == plain, "the bytes are others with EvalMetrics")


@test()
def metrics_without_samples_are_a_warning():
    with temp_folder() as folder:
        out = os.path.join(folder, "o.onnx")
        report = json.loads(quarkq("quantize", MODEL, "--config", "bf16", "--set", "EvalMetrics=true", "-o", out, "--json").stdout)
    expect("not-evaluated" in [finding["id"] for finding in report["findings"]], f"found {report['findings']}")


@test(cases=["debug_mode=true", "preset=XINT8"])
def debug_mode_lists_every_node(setting):
    with temp_folder() as folder:
        out, report = quantized(folder, setting)
        if setting != "debug_mode=true":
            expect_equal(report["node_formats"], None, "node_formats without debug_mode")
            return
        graph = onnx.load(out).graph
        nodes = [node for node in graph.node if not node.op_type.endswith("quantizeLinear") and not node.op_type.endswith("QuantizeLinear")]
        expect_equal([row["node"] for row in report["node_formats"]], [node.name for node in nodes], "nodes")
        written = scales(out)
        listed = {tensor["tensor"]: tensor["scales"] for row in report["node_formats"] for tensor in row["inputs"] + row["outputs"]
                  if tensor["kind"] == "activation"}
        expect_equal(set(listed), set(written), "quantized activations")
        for name, found in listed.items():
            expect_equal(found, [float(written[name])], f"scale of {name}")
        conv = next(row for row in report["node_formats"] if row["op"] == "Conv")
        expect_equal([tensor["kind"] for tensor in conv["inputs"]], ["activation", "stored", "stored"], "inputs of a Conv")
        text = quarkq("quantize", MODEL, "--config", "xint8", "--calib", CALIB, "--set", setting, "-o", out).stdout
        for node in nodes:
            expect(any(line.startswith(node.name + " ") for line in text.splitlines()), f"{node.name} has no line in the summary")


@test()
def print_summary_false_prints_no_tables():
    with temp_folder() as folder:
        out = os.path.join(folder, "o.onnx")
        arguments = ["quantize", MODEL, "--config", "xint8", "--calib", CALIB, "-o", out]
        expect("\nOperator" in quarkq(*arguments).stdout, "no table by default")
        text = quarkq(*arguments, "--set", "print_summary=false").stdout
        expect("\nOperator" not in text and "written" in text, f"found {text}")


@test(cases=["SaveTensorHistFig=true", "SaveAndRestore={folder}/ranges.json", "TensorsRangeFile={folder}/ranges.json",
             "FastFinetune={{CacheDir: {folder}}}", "AutoMixprecision={{SensitivityCacheFile: {folder}/s.json}}"])
def crypto_mode_refuses_what_writes_files(setting):
    with temp_folder() as folder:
        result = run("quantize", MODEL, "--config", "xint8", "--calib", CALIB, "-o", os.path.join(folder, "o.onnx"), "--set", "crypto_mode=true",
                     "--set", setting.format(folder=folder), cwd=folder)
        expect_equal(result.returncode, 2, "exit code")
        expect("crypto_mode" in result.stderr, f"found {result.stderr}")
        expect_equal(os.listdir(folder), [], "files after a refusal")


@test(cases=["xint8", "xint8_adaround"])
def crypto_mode_writes_only_the_result(preset):
    """There is no folder that takes temporary files (none is left but /proc): without crypto_mode the run that keeps samples on disk fails."""
    more = ["FastFinetune.NumIterations=5", "FastFinetune.MemOptLevel=2"] if preset.endswith("adaround") else []
    with temp_folder() as folder:
        nowhere = {**os.environ, "TMPDIR": os.path.join(folder, "nowhere")}
        arguments = ["quantize", MODEL, "--config", preset, "--calib", CALIB, "-o", os.path.join(folder, "o.onnx"), "--json"]
        arguments += [part for setting in more for part in ("--set", setting)]
        if more:
            expect(run(*arguments, env=nowhere, cwd="/proc").returncode != 0, "a run that needs temporary files had no folder for them")
        report = json.loads(quarkq(*arguments, "--set", "CryptoMode=true", "--set", "quant_config.crypto_mode=true", env=nowhere, cwd="/proc").stdout)
        expect_equal(os.listdir(folder), ["o.onnx"], "files after the run")
        if more:
            expect("crypto-mode" in [finding["id"] for finding in report["findings"]], "no notice of what is left out")


@test()
def encryption_has_nothing_to_encrypt():
    with temp_folder() as folder:
        out, report = quantized(folder, "crypto_mode=true", "EncryptionAlgorithm=AES-256")
        notice = [finding["text"] for finding in report["findings"] if finding["subject"] == "EncryptionAlgorithm"]
        expect(notice and "none to encrypt" in notice[0], f"found {notice}")
        expect(content(out) == content(quantized(folder, "crypto_mode=true", name="other")[0]), "EncryptionAlgorithm changed the result")


@test()
def num_bins_change_the_ranges_of_entropy():
    with temp_folder() as folder:
        found = [scales(quantized(folder, "calibrate_method=CalibrationMethod.Entropy", f"NumBins={bins}", preset="s8s8_aaws", name=f"b{bins}")[0])
                 for bins in (128, 512)]
    different = [name for name in found[0] if found[0][name] != found[1][name]]
    expect(different, "NumBins 512 gave the scales of 128")
    return f"{len(different)} of {len(found[0])} scales differ"


@test()
def num_bins_change_the_percentile_of_the_reference():
    """By default statistics have bins of their own, and a notice says so."""
    with temp_folder() as folder:
        settings = ["calibrate_method=CalibrationMethod.Percentile", "Percentile=99", "quarkq.metadata=false"]
        compat = [scales(quantized(folder, *settings, f"NumBins={bins}", preset="s8s8_aaws", name=f"c{bins}", more=["--compat", "quark-0.13"])[0])
                  for bins in (16, 2048)]
        expect(any(compat[0][name] != compat[1][name] for name in compat[0]), "NumBins has no effect in compat mode")
        out, report = quantized(folder, *settings, "NumBins=16", preset="s8s8_aaws")
        expect(content(out) == content(quantized(folder, *settings, preset="s8s8_aaws", name="plain")[0]), "NumBins changed order-free statistics")
        expect("NumBins" in [finding["subject"] for finding in report["findings"]], "no finding about NumBins")


@test()
def scenario_is_checked_and_gives_the_same_range():
    """The reference computes mean and deviation by Scenario and uses neither: both values give one range."""
    with temp_folder() as folder:
        method = "calibrate_method=CalibrationMethod.Distribution"
        same, cubic = (content(quantized(folder, method, f"Scenario={value}", "quarkq.metadata=false", preset="s8s8_aaws", name=value)[0])
                       for value in ("same", "p3"))
        expect(same == cubic, "the scenarios gave different models")
        result = run("quantize", MODEL, "--config", "s8s8_aaws", "--calib", CALIB, "-o", os.path.join(folder, "o.onnx"), "--set", method,
                     "--set", "Scenario=p4")
        expect_equal(result.returncode, 2, "exit code for an unknown scenario")
        expect("Scenario: found p4, allowed is same or p3" in result.stderr, f"found {result.stderr}")


@test()
def overrides_set_range_and_scale_of_a_tensor():
    with temp_folder() as folder:
        base = scales(quantized(folder, preset="a8w8")[0])
        name = "relu2_y"
        ranged = scales(quantized(folder, f"TensorQuantOverrides={{{name}: [{{rmin: -4.0, rmax: 4.0, symmetric: true}}]}}", preset="a8w8")[0])
        expect_equal(float(ranged[name]), float(np.float32(4.0 / 127)), f"scale of {name} for [-4, 4]")
        scaled = scales(quantized(folder, f"TensorQuantOverrides={{{name}: [{{scale: 0.125, zero_point: 0}}]}}", preset="a8w8")[0])
        expect_equal(float(scaled[name]), 0.125, f"scale of {name} as given")
        for other in base:
            if other != name:
                expect(base[other] == ranged[other] == scaled[other], f"{other} changed, too")
