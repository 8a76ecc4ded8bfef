# SPDX-License-Identifier: MIT
"""--requantize: the float model that remains of a quantized one is quantized anew, and gives what the float model itself gives."""
import os

import numpy as np
import onnx
from onnx import helper, numpy_helper

from harness import ROOT, expect, expect_equal, quantize, quarkq, run, temp_folder, test
from reference import check_model, make_model, save_samples

EXAMPLE = os.path.join(ROOT, "examples", "digits")
MODEL, CALIB = os.path.join(EXAMPLE, "digits.onnx"), os.path.join(EXAMPLE, "calib")


def cosine(a, b):
    a, b = a.ravel().astype(np.float64), b.ravel().astype(np.float64)
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def outputs(model, folder, name):
    quarkq("run", model, "--inputs", CALIB, "--outputs", os.path.join(folder, name), "--limit", "16", "--quiet")
    return np.stack([np.load(os.path.join(folder, name, file)) for file in sorted(os.listdir(os.path.join(folder, name)))])


# What a second rounding of weights and activations may cost against the direct result.
FIRST = [("a8w8", 0.99), ("a16w8", 0.99), ("u8s8_aaws", 0.99), ("xint8", 0.99), ("bfp16", 0.99), ("a8w8_adaround", 0.99)]


@test(cases=FIRST)
def gives_nearly_the_direct_result(case):
    first, least = case
    with temp_folder() as folder:
        once, again, direct = (os.path.join(folder, name) for name in ("once.onnx", "again.onnx", "direct.onnx"))
        more = ["--set", "FastFinetune.NumIterations=5"] if first.endswith("adaround") else []
        quarkq("quantize", MODEL, "--config", first, "--calib", CALIB, "-o", once, "--quiet", *more)
        quarkq("quantize", once, "--requantize", "--config", "xint8", "--calib", CALIB, "-o", again, "--quiet")
        quarkq("quantize", MODEL, "--config", "xint8", "--calib", CALIB, "-o", direct, "--quiet")
        check_model(again)
        quarkq("check", again)
        found = cosine(outputs(again, folder, "a"), outputs(direct, folder, "d"))
        expect(found >= least, f"cosine {found} with the direct result")
        plain = cosine(outputs(again, folder, "a"), outputs(MODEL, folder, "f"))
        expect(plain >= 0.95, f"cosine {plain} with the float model")
    return f"{found:.4f} with the direct result, {plain:.4f} with the float model"


@test(cases=["Relu", "Clip"])
def a_folded_activation_comes_back(op):
    """Presets of unsigned ranges leave the Relu to the range; without it the float model would be another one."""
    with temp_folder() as folder:
        model, once, again = (os.path.join(folder, name) for name in ("m.onnx", "once.onnx", "again.onnx"))
        bounds = [numpy_helper.from_array(np.float32(value), name) for name, value in (("low", 0), ("high", 6))]
        last = helper.make_node("Relu", ["c"], ["y"]) if op == "Relu" else helper.make_node("Clip", ["c", "low", "high"], ["y"])
        wide = numpy_helper.from_array(np.linspace(-9, 9, 12, dtype=np.float32).reshape(4, 3, 1, 1), "w")
        made = make_model([helper.make_node("Conv", ["x", "w"], ["c"], name="conv"), last], [("x", [1, 3, 8, 8])], [("y", [1, 4, 8, 8])],
                          [wide] + (bounds if op == "Clip" else []))
        onnx.save(made, model)
        calib = save_samples(os.path.join(folder, "calib"))
        quantize(model, once, calib, "u8s8_aaws")
        expect(op not in [node.op_type for node in onnx.load(once).graph.node], f"{op} is not folded, so this shows nothing")
        quarkq("quantize", once, "--requantize", "--config", "xint8", "--calib", calib, "-o", again, "--quiet", "--on-collapse", "warn")
        written = [node.op_type for node in onnx.load(again).graph.node]
        expect("Relu" in written or "Clip" in written, f"no activation in {written}")


@test()
def every_verb_that_calibrates_takes_it():
    with temp_folder() as folder:
        once, stats = os.path.join(folder, "once.onnx"), os.path.join(folder, "s.qstats")
        quarkq("quantize", MODEL, "--config", "a8w8", "--calib", CALIB, "-o", once, "--quiet")
        refused = run("quantize", once, "--config", "xint8", "--calib", CALIB, "-o", os.path.join(folder, "o.onnx"))
        expect_equal(refused.returncode, 3, "exit code without it")
        expect("--requantize" in refused.stderr, f"the way out is not named: {refused.stderr}")
        quarkq("calibrate", once, "--requantize", "--config", "xint8", "--calib", CALIB, "-o", stats)
        quarkq("quantize", once, "--requantize", "--config", "xint8", "--stats", stats, "-o", os.path.join(folder, "o.onnx"))
        quarkq("analyze", once, "--requantize", "--config", "xint8", "--calib", CALIB)


@test()
def what_cannot_be_removed_is_named():
    with temp_folder() as folder:
        once, out = os.path.join(folder, "once.onnx"), os.path.join(folder, "out.onnx")
        quarkq("quantize", MODEL, "--config", "uint8_dynamic_quant", "-o", once, "--quiet")
        result = run("quantize", once, "--requantize", "--config", "xint8", "--calib", CALIB, "-o", out)
        expect_equal(result.returncode, 3, f"exit code ({result.stderr})")
        for words in ("--requantize", "unsupported are", "Integer", "float model"):
            expect(words in result.stderr, f"{words!r} is not in {result.stderr}")
        expect(not os.path.exists(out), "a model was written")
