# SPDX-License-Identifier: MIT
"""Attention masks in every form that exporters write, for every preset: masked places stay masked, and the result holds no NaN."""
import json
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import expect, quarkq, temp_folder, test
from presets import BLOCKS, INTEGERS, results
from reference import cosine

WIDTH, LENGTH, SAMPLES = 8, 6, 16


def causal():
    return np.tril(np.ones((1, LENGTH, LENGTH), bool))


def padded(number):
    """The last places of some samples are padding."""
    mask = np.ones((1, LENGTH), bool)
    mask[0, LENGTH - number % 3:] = False
    return mask


def node(kind, inputs, output, **attributes):
    return helper.make_node(kind, inputs, [output], name="n_" + output, **attributes)


class Form:
    """How the mask gets to the scores `s`: nodes that make `m`, stored arrays, and the inputs beside `x` with what they hold."""

    def __init__(self, nodes, stored=None, inputs=None):
        self.nodes, self.stored, self.inputs = nodes, stored or {}, inputs or {}


def arithmetic(low):
    """(1 - mask) * low, as BERT and its descendants write it. Minus infinity has no such form: 0 times it is NaN."""
    if np.isinf(low):
        return {}
    add, one = node("Add", ["s", "bias"], "m"), np.float32(1)
    cast, mask = node("Cast", ["mask"], "kept", to=TensorProto.FLOAT), {"mask": lambda i: causal()}
    return {"one minus mask times low": Form([cast, node("Sub", ["one", "kept"], "no"), node("Mul", ["no", "low"], "bias"), add],
                                             {"one": one, "low": low}, mask),
            "mask minus one times high": Form([cast, node("Sub", ["kept", "one"], "no"), node("Mul", ["no", "high"], "bias"), add],
                                              {"one": one, "high": -low}, mask)}


def forms(masked):
    """{name: Form}, where masked places are given the value `masked`."""
    zero, low = np.float32(0), np.float32(masked)
    additive = np.where(causal(), zero, low).astype(np.float32)
    add = node("Add", ["s", "bias"], "m")
    both = [node("Unsqueeze", ["keep", "one"], "wide"), node("And", ["causal", "wide"], "mask")]
    values = {"zero": zero, "low": low}
    return {
        "bias of an input": Form([node("Where", ["mask", "zero", "low"], "bias"), add], values, {"mask": lambda i: causal()}),
        "bias of a stored mask": Form([node("Where", ["mask", "zero", "low"], "bias"), add], {**values, "mask": causal()}),
        "scores and an input": Form([node("Where", ["mask", "s", "low"], "m")], values, {"mask": lambda i: causal()}),
        "scores and a stored mask": Form([node("Where", ["mask", "s", "low"], "m")], {**values, "mask": causal()}),
        "inverted": Form([node("Not", ["mask"], "no"), node("Where", ["no", "low", "s"], "m")], values, {"mask": lambda i: causal()}),
        "additive input": Form([add], {}, {"bias": lambda i: additive}),
        "additive stored": Form([add], {"bias": additive}),
        "subtracted": Form([node("Sub", ["s", "bias"], "m")], {"bias": -additive}),
        "two masks": Form(both + [node("Where", ["mask", "s", "low"], "m")], {**values, "one": np.array([1]), "causal": causal()}, {"keep": padded}),
        "two masks as a bias": Form(both + [node("Where", ["mask", "zero", "low"], "bias"), add],
                                    {**values, "one": np.array([1]), "causal": causal()}, {"keep": padded}),
        **arithmetic(low),
        "expanded": Form([node("Expand", ["row", "shape"], "bias"), node("Where", ["mask", "bias", "lows"], "b2"), node("Add", ["s", "b2"], "m")],
                         {"row": np.zeros((1, 1, LENGTH), np.float32), "shape": np.array([1, LENGTH, LENGTH]),
                          "lows": np.full((1, LENGTH, LENGTH), low), "mask": causal()}),
        "padding over a stored bias": Form([node("Unsqueeze", ["keep", "one"], "wide"), node("Where", ["wide", "causal", "low"], "bias"), add],
                                           {"low": low, "causal": additive, "one": np.array([1])}, {"keep": padded}),
    }


def attention(form):
    rng = np.random.default_rng(1)
    stored = {name: (rng.standard_normal((WIDTH, WIDTH)) * 0.3).astype(np.float32) for name in ("wq", "wk", "wv", "wo")}
    stored.update(scale=np.float32(WIDTH ** -0.5), **form.stored)
    nodes = [node("MatMul", ["x", "wq"], "q"), node("MatMul", ["x", "wk"], "k"), node("MatMul", ["x", "wv"], "v"),
             node("Transpose", ["k"], "kt", perm=[0, 2, 1]), node("MatMul", ["q", "kt"], "qk"), node("Mul", ["qk", "scale"], "s"), *form.nodes,
             node("Softmax", ["m"], "p", axis=-1), node("MatMul", ["p", "v"], "o"), node("MatMul", ["o", "wo"], "y")]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, LENGTH, WIDTH])]
    for name, make in form.inputs.items():
        inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(make(0).dtype), make(0).shape))
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, LENGTH, WIDTH])],
                              [numpy_helper.from_array(np.asarray(value), name) for name, value in stored.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def write_case(folder, form):
    """Writes m.onnx and its samples; returns the samples."""
    onnx.save(attention(form), os.path.join(folder, "m.onnx"))
    rng = np.random.default_rng(2)
    samples = []
    for i in range(SAMPLES):
        sample = {"x": rng.standard_normal((1, LENGTH, WIDTH)).astype(np.float32), **{name: make(i) for name, make in form.inputs.items()}}
        for name, value in sample.items():
            own = os.path.join(folder, "samples", name) if len(sample) > 1 else os.path.join(folder, "samples")
            os.makedirs(own, exist_ok=True)
            np.save(os.path.join(own, f"s{i:02}.npy"), value)
        samples.append(sample)
    return samples


def worst_cosine(folder, preset, form):
    samples = write_case(folder, form)
    model, output = os.path.join(folder, "m.onnx"), os.path.join(folder, "q.onnx")
    quarkq("quantize", "-c", preset, "--calib", os.path.join(folder, "samples"), "--set", "calibration.allow_non_finite=true",
           "--on-collapse", "warn", "-o", output, model)
    return min(cosine(a, b) for a, b in zip(results(model, samples), results(output, samples)))


VALUES = [("minus infinity", -np.inf), ("-1e9", -1e9), ("lowest float", float(np.finfo(np.float32).min))]
# 4 and 6 bits round everything else, too.
LEAST = {"mx4": 0.75, "mxfp4e2m1": 0.85, "int8_transformer_default": 0.95, "mxfp6e3m2": 0.95, "mxfp8e5m2": 0.95}


@test(cases=[(f"{preset}, {name}", preset, value) for preset in INTEGERS + BLOCKS for name, value in VALUES])
def masked_places_stay_masked(case):
    _, preset, value = case
    worst = {}
    for name, form in forms(value).items():
        with temp_folder() as folder:
            worst[name] = worst_cosine(folder, preset, form)
    least = LEAST.get(preset, 0.98)
    low = {name: round(found, 4) for name, found in worst.items() if not found >= least}
    expect(not low, f"worst cosines below {least}: {low}")
    return f"worst cosine {min(worst.values()):.4f}"


# The stored mask saturates in int8 while the sum stays float: the scores of such a row are seen.
@test(cases=[preset for preset in INTEGERS + BLOCKS if preset not in LEAST and preset != "mx9_int8"])
def rows_without_any_place(preset):
    """The float model gives every place the same weight."""
    mask, zero = causal(), np.float32(0)
    mask[0, 2] = False
    for low in (np.float32(-1e9), np.finfo(np.float32).min):
        add, values = node("Add", ["s", "bias"], "m"), {"zero": zero, "low": low}
        rows = {"bias": Form([node("Where", ["mask", "zero", "low"], "bias"), add], values, {"mask": lambda i: mask}),
                "scores": Form([node("Where", ["mask", "s", "low"], "m")], values, {"mask": lambda i: mask}),
                "stored": Form([add], {"bias": np.where(mask, zero, low).astype(np.float32)})}
        for name, form in rows.items():
            with temp_folder() as folder:
                found = worst_cosine(folder, preset, form)
            expect(found >= 0.98, f"{name}, {low}: worst cosine {found}")


@test(cases=["a8w8", "xint8", "mx9"])
def intended_infinities_are_no_warning(preset):
    for name, form in forms(-np.inf).items():
        with temp_folder() as folder:
            write_case(folder, form)
            report = os.path.join(folder, "r.json")
            quarkq("quantize", "-c", preset, "--calib", os.path.join(folder, "samples"), "--set", "calibration.allow_non_finite=true",
                   "-o", os.path.join(folder, "q.onnx"), "--report", report, os.path.join(folder, "m.onnx"))
            with open(report, encoding="utf-8") as file:
                found = [finding["id"] for finding in json.load(file)["findings"]]
            expect("non-finite" not in found, f"{name}: the mask is reported as a fault of the samples: {found}")
