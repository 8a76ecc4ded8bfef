# SPDX-License-Identifier: MIT
"""Gates hold because something was measured: an empty text or NaN is no limit, and a comparison of nothing is no success."""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper

from harness import expect, expect_equal, expect_error, quarkq, run, temp_folder, test
from reference import DIGITS

MODEL = os.path.join(DIGITS, "digits.onnx")
CALIB = os.path.join(DIGITS, "calib")
EVAL = os.path.join(DIGITS, "eval", "inputs")
LABELS = os.path.join(DIGITS, "eval", "labels.csv")
QUANTIZE = ["quantize", MODEL, "-c", "xint8", "--calib", CALIB, "-o", "{out}"]
SCORE = ["evaluate", MODEL, "--data", EVAL, "--labels", LABELS, "--metric", "top1"]
TUNE = ["tune", MODEL, "-c", "xint8", "--calib", CALIB, "--eval", EVAL, "--labels", LABELS, "--metric", "top1", "-o", "{out}"]
FOLDERS = ["evaluate", CALIB, CALIB]
ANALYZE = ["analyze", MODEL, "-c", "xint8", "--calib", CALIB]
CHECK = ["check", MODEL, "--target", "x1"]
RUN = ["run", MODEL, "--inputs", CALIB, "--outputs", "{out}"]

# Every option that takes a number, a time, a size or a goal.
OPTIONS = [
    *[(FOLDERS, option) for option in ("--min-cos", "--max-l2", "--min-psnr", "--min-ssim")],
    *[([*FOLDERS, "--labels", LABELS], option) for option in ("--min-top1", "--top")],
    *[(SCORE, option) for option in ("--require", "--limit", "--min-score", "--nms-iou", "--metric-timeout", "--confidence")],
    *[(QUANTIZE, option) for option in ("--require", "--verify", "--max-wide", "--max-islands", "--max-memory", "--threads")],
    *[(TUNE, option) for option in ("--goal", "--confidence", "--time", "--limit", "--max-memory")],
    *[(ANALYZE, option) for option in ("--min-cos", "--top", "--most", "--samples")],
    *[(CHECK, option) for option in ("--min-npu", "--max-partitions")],
    *[(RUN, option) for option in ("--repeat", "--limit", "--max-memory")],
    (["calibrate", MODEL, "-c", "xint8", "--calib", CALIB, "-o", "{out}"], "--shard"),
    (["list", "presets"], "--timeout"),
]
NAN = {"--require": ["cos>=nan", "top1>=nan", "metric>=NaN"], "--goal": ["value>=nan", "drop<=nan", "drop<=nan%"], "--time": ["nans"], "--min-npu": ["nan", "nan%"],
       "--max-wide": ["nan", "nan%"]}


@test(cases=[(f"{command[0]} {option}", command, option) for command, option in OPTIONS])
def an_empty_text_or_nan_is_no_limit(case):
    _, command, option = case
    with temp_folder() as folder:
        out = os.path.join(folder, "out")
        words = [word.format(out=out) for word in command]
        for text in ["", *NAN.get(option, ["nan", "-NaN", "NAN"])]:
            for given in ([option, text], [f"{option}={text}"]):
                done = run(*words, *given)
                expect(done.returncode == 2 and "error: " in done.stderr, f"{given}: exit code {done.returncode}, {done.stderr[-200:]}")
                expect_equal(os.listdir(folder), [], f"{given}: files")


@test()
def limits_of_opposite_results_are_missed():
    with temp_folder() as folder:
        values = np.random.default_rng(0).standard_normal((1, 10)).astype(np.float32)
        for name, array in (("a", values), ("b", -values)):
            os.mkdir(os.path.join(folder, name))
            np.save(os.path.join(folder, name, "0.npy"), array)
        expect_error(run("evaluate", folder + "/a", folder + "/b", "--min-cos", "0.5"), 5, "required is at least 0.5")
        expect_equal(run("evaluate", folder + "/a", folder + "/b", "--min-cos", "-1").returncode, 0, "a limit that holds")


def empty_samples(folder, shape=(0, 1, 8, 8)):
    calib = os.path.join(folder, "empty")
    os.mkdir(calib)
    np.save(os.path.join(calib, "0.npy"), np.zeros(shape, np.float32))
    return calib


@test(cases=["quantize", "calibrate", "evaluate", "score", "tune", "analyze", "optimize", "an array", "npz"])
def a_sample_without_values_is_refused(verb):
    with temp_folder() as folder:
        calib, out = empty_samples(folder), os.path.join(folder, "out.onnx")
        if verb == "an array":
            calib = os.path.join(calib, "0.npy")
        if verb == "npz":
            np.savez(os.path.join(folder, "empty.npz"), **{onnx.load(MODEL).graph.input[0].name: np.zeros((0, 1, 8, 8), np.float32)})
            calib = os.path.join(folder, "empty.npz")
        command = {"calibrate": ["calibrate", MODEL, "-c", "xint8", "--calib", calib, "-o", out], "score": ["evaluate", MODEL, "--data", calib, "--labels", LABELS, "--metric", "top1", "--require", "top1>=0"],
                   "evaluate": ["evaluate", "--float", MODEL, "--quantized", MODEL, "--data", calib],
                   "tune": ["tune", MODEL, "-c", "xint8", "--calib", calib, "--eval", EVAL, "--labels", LABELS, "--metric", "top1", "-o", out],
                   "analyze": ["analyze", MODEL, "-c", "xint8", "--calib", calib], "optimize": ["optimize", MODEL, "--calib", calib, "-o", out]}.get(
                       verb, ["quantize", MODEL, "-c", "xint8", "--calib", calib, "-o", out, "--require", "cos>=0.99"])
        expect_error(run(*command), 4, "contains no values, shape [0,1,8,8]")
        expect(not os.path.isfile(out), "a result was written")


@test(cases=["--require", "--on-collapse"])
def a_gate_that_compared_nothing_fails(option):
    """The outputs of this model have no values, whatever the sample."""
    with temp_folder() as folder:
        nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Slice", ["r", "zero", "zero"], ["y"])]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [0, 4])], [helper.make_tensor("zero", TensorProto.INT64, [1], [0])])
        model = os.path.join(folder, "m.onnx")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        calib = os.path.join(folder, "calib")
        os.mkdir(calib)
        np.save(os.path.join(calib, "0.npy"), np.ones((1, 4), np.float32))
        line = ["quantize", model, "-c", "a8w8", "--calib", calib, "-o", os.path.join(folder, "q.onnx")]
        gate = {"--require": ["--require", "cos>=0.99"], "--on-collapse": ["--on-collapse", "fail"]}[option]
        expect_error(run(*line, *gate), 5, "values that can be compared")
        expect(not os.path.exists(os.path.join(folder, "q.onnx")), "a result was written")
        quarkq(*line)
