# SPDX-License-Identifier: MIT
"""Guards and quality gates, shown on labelled data: what the reference ruins stays as good as the float model."""
import importlib
import json
import os
import sys

import numpy as np
import onnx

from harness import expect, expect_equal, quarkq, run, shared, temp_folder, test
from reference import DIGITS, conv_model, save_samples, session, shared_model

INTEGER_PRESETS = ["XINT8", "VINT8", "A8W8", "A16W8", "S8S8_AAWS", "U8S8_AAWS", "U16S8_AAWS"]
DETECTOR_F1, TOP1 = 0.90, 0.99
BITS = [("A16W8", 1.70), ("A8W8", 2.0), ("XINT8", 2.0), ("VINT8", 2.0)]


def quantized(folder, name, preset, *more):
    """Path of the model and its report."""
    output = os.path.join(folder, "quantized.onnx")
    result = quarkq("quantize", "--config", preset, "--calib", shared("golden", "inputs", name, "calib"), "-o", output, "--json",
                    *more, shared("models", name + ".onnx"))
    return output, json.loads(result.stdout)


def scores(name, model):
    """What the shared scorer says of the model, run in a session whose integer products are exact."""
    shared("data", "tensors", name)
    sys.path.insert(0, shared("tools"))
    scorer = importlib.import_module("score_labelled")
    xs, labels = scorer.labelled(name)
    runner = session(model)
    tensor = runner.get_inputs()[0]
    dtype = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int64)": np.int64}[tensor.type]
    return scorer.score(name, [runner.run(None, {tensor.name: x.astype(dtype)})[0] for x in xs], labels)


def ids(report):
    return {finding["id"] for finding in report["findings"]}


@test(cases=["XINT8", "VINT8", "A8W8"])
def detector_keeps_its_scores(preset):
    with temp_folder() as folder:
        model, report = quantized(folder, "grid_detector", preset, "--target", "none")
        found = scores("grid_detector", model)["f1"]
        expect("guard-far-ranges" in ids(report), "no guard is named in the report")
        expect(found >= DETECTOR_F1, f"F1 {found:.3f}, at least {DETECTOR_F1} expected")
    return f"F1 {found:.3f}"


@test(cases=BITS)
def language_model_keeps_its_attention(case):
    preset, most = case
    with temp_folder() as folder:
        model, report = quantized(folder, "char_gpt", preset)
        found = scores("char_gpt", model)["bits_per_character"]
        expect("guard-sentinel-range" in ids(report), "no guard is named in the report")
        expect(found <= most, f"{found:.3f} bits per character, at most {most} expected")
    return f"{found:.3f} bits per character"


@test(cases=INTEGER_PRESETS)
def half_precision_digits(preset):
    with temp_folder() as folder:
        model, _ = quantized(folder, "mobilenetv3_digits_fp16", preset)
        found = scores("mobilenetv3_digits_fp16", model)["top1"]
        expect(found >= TOP1, f"top-1 {found:.4f}, at least {TOP1} expected")
    return f"top-1 {found:.4f}"


@test(cases=[("off", ("--set", "guards=off")), ("compat", ("--compat", "quark-0.13"))])
def guards_can_be_switched_off(case):
    with temp_folder() as folder:
        for name in ("grid_detector", "char_gpt"):
            _, report = quantized(folder, name, "A8W8", *case[1])
            acted = sorted(one for one in ids(report) if one.startswith("guard-"))
            expect_equal(acted, [], f"guards that acted on {name}")


@test()
def summary_names_far_ranges_that_stay():
    with temp_folder() as folder:
        _, report = quantized(folder, "grid_detector", "XINT8", "--target", "none", "--set", "guards=off")
    expect("far-ranges" in ids(report), "nothing is said about boxes and scores in one Concat")


def digits(*more):
    return ("quantize", "--config", "xint8", "--calib", os.path.join(DIGITS, "calib"), *more, os.path.join(DIGITS, "digits.onnx"))


@test()
def report_names_the_noisiest_tensors():
    with temp_folder() as folder:
        report = json.loads(quarkq(*digits("-o", os.path.join(folder, "q.onnx"), "--json")).stdout)
    worst = [tensor["sqnr_db"] for tensor in report["worst_tensors"]]
    expect(0 < len(worst) <= 10, f"{len(worst)} tensors, 1 to 10 expected")
    expect_equal(worst, sorted(worst), "order of the noisiest tensors")


@test()
def missed_requirement_writes_nothing():
    with temp_folder() as folder:
        output = os.path.join(folder, "q.onnx")
        result = run(*digits("-o", output, "--require", "cos>=0.99999"))
        expect_equal(result.returncode, 5, "exit code")
        expect("required is 0.99999" in result.stderr, f"stderr does not name the requirement: {result.stderr[-300:]}")
        expect_equal(os.listdir(folder), [], "files written")
        quarkq(*digits("-o", output, "--require", "cos>=0.5"))
        expect(os.path.exists(output), "a requirement that is met left no output")


@test(cases=["cos>=2", "psnr>=3", "cos"])
def wrong_requirement(text):
    with temp_folder() as folder:
        result = run(*digits("-o", os.path.join(folder, "q.onnx"), "--require", text))
    expect_equal(result.returncode, 2, "exit code")


@test()
def requirement_needs_the_verification():
    with temp_folder() as folder:
        result = run(*digits("-o", os.path.join(folder, "q.onnx"), "--require", "cos>=0.5", "--no-verify"))
    expect_equal(result.returncode, 2, "exit code")


def far_sample(folder, count, number):
    """`count` samples of which one has a value a thousand times as large as all others; returns the folder."""
    save_samples(folder, count)
    path = os.path.join(folder, f"{number:04d}.npy")
    values = np.load(path)
    values[0, 0, 0, 0] = 1000
    np.save(path, values)
    return folder


def conv_with(folder, calib, *more):
    """A quantize run of conv_model(): the result, and the report when it succeeded."""
    model, report = os.path.join(folder, "m.onnx"), os.path.join(folder, "r.json")
    onnx.save(conv_model(), model)
    result = run("quantize", model, "--config", "a8w8", "--calib", calib, "-o", os.path.join(folder, "q.onnx"), "--report", report, *more)
    if result.returncode != 0:
        return result, None
    with open(report, encoding="utf-8") as file:
        return result, json.load(file)


@test()
def the_worst_of_several_samples_counts():
    """squeezenet1_1 A8W8: 0.9 holds on the first calibration sample and on average."""
    with temp_folder() as folder:
        inputs, output = shared("golden", "inputs", "squeezenet1_1", "calib"), os.path.join(folder, "q.onnx")
        arguments = ["quantize", shared_model("squeezenet1_1"), "--config", "a8w8", "--calib", inputs, "-o", output]
        one = run(*arguments, "--require", "cos>=0.9", "--set", "quarkq.verify_samples=1", "--on-collapse", "warn")
        expect_equal(one.returncode, 0, "exit code with the first sample alone")
        os.remove(output)
        result = run(*arguments, "--require", "cos>=0.9", "--on-collapse", "warn")
        expect_equal(result.returncode, 5, f"exit code ({result.stderr.strip()[-300:]})")
        expect_equal(os.listdir(folder), [], "files written")
        expect_equal(run(*arguments, "--require", "cos>=0.9").returncode, 0, "exit code with a rescue")
    for words in ("at worst (sample ", "on average", "on 8 samples", "required is 0.9"):
        expect(words in result.stderr, f"the message does not say {words!r}: {result.stderr.strip()[-400:]}")


@test()
def samples_of_another_folder_are_judged_on_request():
    with temp_folder() as folder:
        calib, other = save_samples(os.path.join(folder, "calib")), far_sample(os.path.join(folder, "eval"), 6, 4)
        _, report = conv_with(folder, calib, "--require", "cos>=0.99")
        expect_equal(report["compared"], {"samples": 4, "folder": ""}, "compared")
        failed, _ = conv_with(folder, calib, "--require", "cos>=0.99", "--eval", other)
        expect_equal(failed.returncode, 5, "exit code with --eval")
        expect("sample 0004" in failed.stderr and "6 samples" in failed.stderr, f"the message is {failed.stderr}")
        result, report = conv_with(folder, calib, "--eval", other)
        expect_equal(report["compared"], {"samples": 6, "folder": other}, "compared")
        output = report["outputs"][0]
        expect_equal(output["worst_sample"], "0004", "worst sample")
        expect(output["min_cosine"] < 0.5 and 0.8 < output["cosine"] < 1, f"cosines are {output}")
        _, report = conv_with(folder, calib, "--eval", other, "--set", "quarkq.min_cosine=0.8")
        expect("output-collapsed" in ids(report), "the mean is above the limit, and nobody says that one sample is not")
        expect(f" {output['min_cosine']:.4f} " in result.stdout, f"the summary is {result.stdout}")


@test()
def samples_are_drawn_from_the_folder():
    """--verify 8 takes 8 of 20, always the same, without a rhythm. A sample that is far away shows whether it is among them."""
    with temp_folder() as folder:
        calib, drawn = save_samples(os.path.join(folder, "calib")), set()
        for number in range(20):
            other = far_sample(os.path.join(folder, f"eval{number}"), 20, number)
            _, report = conv_with(folder, calib, "--eval", other, "--verify", "8")
            expect_equal(report["compared"]["samples"], 8, "samples")
            drawn |= {number} if report["outputs"][0]["worst_sample"] == f"{number:04d}" else set()
            _, whole = conv_with(folder, calib, "--eval", other)
            expect_equal((whole["compared"]["samples"], whole["outputs"][0]["worst_sample"]), (20, f"{number:04d}"), "all samples")
        expect_equal(len(drawn), 8, f"drawn are {drawn}")
        expect(len({number % 2 for number in drawn}) == 2, f"all even or all odd: {drawn}")


@test()
def collapse_names_the_cause():
    """The gate is settable, and the warning says where the signal drops."""
    with temp_folder() as folder:
        _, report = quantized(folder, "char_gpt", "A8W8", "--set", "guards=off")
        warnings = [one for one in report["findings"] if one["id"] == "output-collapsed"]
        expect_equal(len(warnings), 1, "collapsed outputs")
        expect("SQNR drops at" in warnings[0]["text"], f"no layer is named: {warnings[0]['text']}")
        _, strict = quantized(folder, "char_gpt", "A8W8", "--set", "quarkq.min_cosine=0.99999")
        expect("output-collapsed" in ids(strict), "min_cosine has no effect")
