# SPDX-License-Identifier: MIT
"""Models of today's tools: exports of PyTorch 2.15 (opsets 18 to 23, torch_exports/make.py) and networks of opsets 25 to 28. They load, are quantized,
and run as in ONNX Runtime. Rewrites for x2 keep every bit of a Swin network and of a super-resolution network."""
import glob
import json
import os

import numpy as np
import onnx
import onnxruntime

import random_graphs
from harness import expect, expect_equal, quarkq, run, temp_folder, test
from reference import LIBRARY, check_model, cosine

EXPORTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_exports")
NAMES = sorted(os.path.basename(path)[:-5] for path in glob.glob(os.path.join(EXPORTS, "*.onnx")))
PRESETS = ["xint8", "a8w8", "a16w8", "bf16"]
SHIFTED = ["swin_21", "swin_legacy_18", "swinir_legacy_18", "swinir_23"]
CURED = ["negative-slice-bounds", "normalization-of-rank-3", "depth-to-space-tail"]
SAMPLES = 6
OPSETS = range(25, 29)
# An operator that rounds differently moves single elements by a step of their format; others follow.
MOST_STEPS, LEAST_COSINE, FLOAT_ERROR = 3, 0.9999, 5e-6
STEPS = {"xint8": 128, "a8w8": 127, "a16w8": 32767, "bf16": 128}


class Samples:
    def __init__(self, model, folder):
        entry = model.graph.input[0]
        shape = [dim.dim_value for dim in entry.type.tensor_type.shape.dim]
        generator = np.random.default_rng(5)
        self.folder, self.name = os.path.join(folder, "samples"), entry.name
        self.arrays = [generator.uniform(-2, 2, shape).astype(np.float32) for _ in range(SAMPLES)]
        os.makedirs(self.folder)
        for i, array in enumerate(self.arrays):
            np.save(os.path.join(self.folder, f"{i}.npy"), array)

    def in_quarkq(self, model):
        """The first output for each sample."""
        out = model[:-5] + "_results"
        quarkq("run", model, "--inputs", self.folder, "--outputs", out, "--quiet")
        outputs = onnx.load(model).graph.output
        return [np.load(os.path.join(out, outputs[0].name if len(outputs) > 1 else "", f"{i}.npy")) for i in range(SAMPLES)]

    def in_onnxruntime(self, model):
        """Without optimizations, which change results: pairs of Q and DQ between others are removed."""
        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 3, 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.register_custom_ops_library(LIBRARY)
        runner = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        return [runner.run(None, {self.name: array})[0] for array in self.arrays]


def distance(found, wanted):
    """Of all samples: the largest difference as a share of the largest value, the lowest cosine, the elements that differ."""
    peak = max(float(np.abs(one).max()) for one in wanted)
    return (max(float(np.abs(a - b).max()) for a, b in zip(found, wanted)) / peak, min(cosine(a, b) for a, b in zip(found, wanted)),
            sum(int((a != b).sum()) for a, b in zip(found, wanted)))


def expect_as_onnxruntime(model, samples, preset, label):
    largest, least, count = distance(samples.in_quarkq(model), samples.in_onnxruntime(model))
    print(f"{label} {preset or 'float'}: largest difference {largest:.2e} of the peak, cosine {least:.7f}, {count} elements differ")
    if preset is None:
        expect(largest <= FLOAT_ERROR, f"{label}: {largest:.2e} from ONNX Runtime")
        return
    expect(least >= LEAST_COSINE and largest <= MOST_STEPS * 2 / STEPS[preset],
           f"{label}, {preset}: {largest:.2e} from ONNX Runtime, cosine {least:.7f}")


def quantized(model, samples, preset, folder, *more):
    """The result; the body and its tail as one model if it was cut."""
    out, joined = os.path.join(folder, f"{preset}.onnx"), os.path.join(folder, f"{preset}_joined.onnx")
    quarkq("quantize", model, "-o", out, "--joined", joined, "--config", preset, "--calib", samples.folder, "--quiet", *more)
    return joined if os.path.exists(joined) else out


@test(cases=NAMES)
def exports_run_as_in_onnxruntime(name):
    with temp_folder() as folder:
        path = os.path.join(folder, "model.onnx")
        model = onnx.load(os.path.join(EXPORTS, f"{name}.onnx"))
        expect_equal(model.opset_import[0].version, int(name.rsplit("_", 1)[1]), "opset")
        onnx.save(model, path)
        samples = Samples(model, folder)
        expect_as_onnxruntime(path, samples, None, name)
        for preset in PRESETS:
            expect_as_onnxruntime(quantized(path, samples, preset, folder), samples, preset, name)


@test(cases=[(f"opset {opset}", opset) for opset in OPSETS])
def new_opsets_run_as_in_onnxruntime(case):
    """Three random networks of each opset."""
    label, opset = case
    for seed in range(3):
        with temp_folder() as folder:
            path = os.path.join(folder, "model.onnx")
            model, _ = random_graphs.random_model(seed + 10 * opset, opset=opset)
            expect_equal(model.opset_import[0].version, opset, "opset")
            onnx.save(model, path)
            samples = Samples(model, folder)
            expect_as_onnxruntime(path, samples, None, f"{label}, network {seed}")
            for preset in PRESETS:
                out = quantized(path, samples, preset, folder, "--target", "none")
                # ONNX Runtime has Q/DQ up to opset 27.
                expect_equal(onnx.load(out).opset_import[0].version, min(opset, 27), f"opset of the {preset} result")
                expect_as_onnxruntime(out, samples, preset, f"{label}, network {seed}")


def facts(model, target="x2"):
    return {finding["rule"] for finding in json.loads(run("check", model, "--target", target, "--json").stdout)["findings"]}


@test(cases=SHIFTED)
def rewrites_of_windows_keep_every_bit(name):
    with temp_folder() as folder:
        path = os.path.join(EXPORTS, f"{name}.onnx")
        samples, plain, forward = Samples(onnx.load(path), folder), os.path.join(folder, "plain.onnx"), os.path.join(folder, "forward.onnx")
        quarkq("optimize", path, "-o", plain, "--quiet", "--config", "a8w8", "--target", "none")
        quarkq("optimize", path, "-o", forward, "--quiet", "--config", "a8w8", "--target", "none", "--set", "legalize.positive_slice_bounds=true",
               "--set", "legalize.normalization_at_rank_4=true")
        expect("normalization-of-rank-3" in facts(path), f"the export has {facts(path)}")
        expect_equal("negative-slice-bounds" in facts(path), "legacy" in name, "negative bounds")
        expect(not facts(forward) & {"negative-slice-bounds", "normalization-of-rank-3"}, f"left: {facts(forward)}")
        expect_equal(distance(samples.in_quarkq(forward), samples.in_quarkq(plain))[2], 0, "elements that differ")
        expect_equal(distance(samples.in_onnxruntime(forward), samples.in_onnxruntime(plain))[2], 0, "elements that differ in ONNX Runtime")


@test(cases=[(f"{name} {preset}", name, preset) for name in SHIFTED for preset in ("a8w8", "a16w8")])
def results_for_x2_have_no_cured_facts(case):
    _, name, preset = case
    with temp_folder() as folder:
        path = os.path.join(EXPORTS, f"{name}.onnx")
        samples, out = Samples(onnx.load(path), folder), os.path.join(folder, "q.onnx")
        quarkq("quantize", path, "-o", out, "--config", preset, "--target", "x2", "--calib", samples.folder, "--quiet")
        expect(not facts(out) & set(CURED), f"left: {facts(out)}")
        expect_equal(os.path.exists(os.path.join(folder, "q_tail.onnx")), name.startswith("swinir"), "a tail of its own")
        check_model(out)
