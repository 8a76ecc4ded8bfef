# SPDX-License-Identifier: MIT
"""--dry-run: nothing is written, and what it says of nodes, tensors, size and memory is what the run then finds."""
import json
import os

import numpy as np
import onnx

from harness import ROOT, expect, expect_equal, quarkq, run, temp_folder, test

EXAMPLE = os.path.join(ROOT, "examples", "digits")
MODEL, CALIB = os.path.join(EXAMPLE, "digits.onnx"), os.path.join(EXAMPLE, "calib")


def many_samples(folder, count=40):
    """More samples than a dry run tries."""
    known = sorted(os.listdir(CALIB))
    os.mkdir(folder)
    for i in range(count):
        values = np.load(os.path.join(CALIB, known[i % len(known)]))
        np.save(os.path.join(folder, f"{i:04d}.npy"), values * np.float32(1 - i / 400))
    return folder


def dry(verb, *arguments):
    return json.loads(quarkq(verb, MODEL, *arguments, "--dry-run", "--json").stdout)


@test(cases=["xint8", "a8w8", "a16w8", "bfp16", "bf16", "u8s8_aaws", "uint8_dynamic_quant", "matmul_nbits"])
def quantize_does_what_was_forecast(preset):
    with temp_folder() as folder:
        calib, out = many_samples(os.path.join(folder, "calib")), os.path.join(folder, "out.onnx")
        arguments = ["--config", preset, "--calib", calib, "-o", out]
        before = dry("quantize", *arguments)
        expect_equal(sorted(os.listdir(folder)), ["calib"], "files after the dry run")
        after = json.loads(quarkq("quantize", MODEL, *arguments, "--json", "--on-collapse", "warn").stdout)
    for key in ("nodes", "operators", "tensors", "output", "preset", "quantizer", "deployable"):
        expect_equal(before[key], after[key], key)
    expect_equal(before["samples"], {"total": 40, "tried": 16}, "samples")
    found, wanted = before["bytes"]["output"], after["bytes"]["output"]
    expect(abs(found - wanted) <= 0.02 * wanted, f"size: {found} forecast, {wanted} written")
    total = sum(count["total"] - count["quantized"] for count in after["operators"].values())
    left = sum(len(part["nodes"]) for part in before["float_parts"])
    expect(left <= total, f"{left} nodes are said to stay float, {total} do")
    expect(before["memory_bytes"] > 1 << 20 and before["seconds"] > 0, f"cost: {before['memory_bytes']} bytes, {before['seconds']} s")


@test()
def float_parts_have_their_reasons():
    with temp_folder() as folder:
        out = os.path.join(folder, "out.onnx")
        found = dry("quantize", "--config", "xint8", "--calib", CALIB, "-o", out, "--set", "exclude=[conv2]")
        named = {name: part["why"] for part in found["float_parts"] for name in part["nodes"]}
        expect("node conv2 (Conv)" in named, f"conv2 is not among {named}")
        expect("settings exclude" in named["node conv2 (Conv)"], named["node conv2 (Conv)"])
        found = dry("quantize", "--config", "xint8", "--calib", CALIB, "-o", out, "--set", "op_types_to_quantize=[Conv]")
        whys = {part["why"] for part in found["float_parts"]}
        expect(any("no such operator" in why for why in whys), f"reasons: {whys}")


@test()
def the_text_says_the_same():
    with temp_folder() as folder:
        text = quarkq("quantize", MODEL, "--config", "xint8", "--calib", CALIB, "-o", os.path.join(folder, "o.onnx"), "--dry-run").stdout
        expect_equal(os.listdir(folder), [], "files")
    for words in ("dry run", "nothing is written", "Operator", "activation UINT8", "memory", "time", "would be"):
        expect(words in text, f"{words!r} is not in\n{text}")


@test()
def training_is_not_in_the_time():
    with temp_folder() as folder:
        found = dry("quantize", "--config", "xint8_adaround", "--calib", CALIB, "-o", os.path.join(folder, "o.onnx"))
    expect(any("training" in text for text in found["not_included"]), f"not included: {found['not_included']}")
    expect(found["tried_seconds"] < 60, f"the dry run took {found['tried_seconds']} s: were layers trained?")


@test()
def calibrate_and_analyze():
    with temp_folder() as folder:
        calib, out = many_samples(os.path.join(folder, "calib")), os.path.join(folder, "s.qstats")
        before = dry("calibrate", "--config", "xint8", "--calib", calib, "-o", out)
        expect_equal(sorted(os.listdir(folder)), ["calib"], "files after the dry run")
        after = json.loads(quarkq("calibrate", MODEL, "--config", "xint8", "--calib", calib, "-o", out, "--json").stdout)
        found, wanted = before["bytes"]["output"], after["bytes"]
        expect(abs(found - wanted) <= 0.2 * wanted, f"size: {found} forecast, {wanted} written")
        layers = dry("analyze", "--config", "xint8", "--calib", calib)
    expect(layers["seconds"] > layers["tried_seconds"], f"{layers['seconds']} s forecast, {layers['tried_seconds']} s tried")
    expect_equal(layers["output"], "", "file of analyze")


BAD = [
    ("no samples", ["--config", "xint8"], 4, "--calib"),
    ("report", ["--config", "xint8", "--calib", CALIB, "--report", "r.json"], 2, "--report"),
    ("folder", ["--config", "xint8", "--calib", CALIB, "-o", "/nowhere/at/all/out.onnx"], 1, "no such folder"),
    ("preset", ["--config", "xint9", "--calib", CALIB], 2, "xint9"),
]


@test(cases=BAD)
def what_the_run_refuses_is_refused(case):
    _, arguments, code, words = case
    with temp_folder() as folder:
        more = [] if "-o" in arguments else ["-o", os.path.join(folder, "o.onnx")]
        result = run("quantize", MODEL, "--dry-run", *arguments, *more)
        expect_equal(os.listdir(folder), [], "files")
    expect_equal(result.returncode, code, f"exit code ({result.stderr.strip()})")
    expect(words in result.stderr, f"{words!r} is not in {result.stderr}")


@test()
def an_input_model_is_left_alone():
    before = onnx.load(MODEL).SerializeToString()
    with temp_folder() as folder:
        result = run("quantize", MODEL, "--dry-run", "--config", "xint8", "--calib", CALIB, "-o", MODEL)
        expect_equal(result.returncode, 2, "exit code")
        expect_equal(os.listdir(folder), [], "files")
    expect_equal(onnx.load(MODEL).SerializeToString() == before, True, "the model is what it was")
