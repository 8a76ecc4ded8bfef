# SPDX-License-Identifier: MIT
"""Random models (random_graphs.py): quarkq computes what ONNX Runtime computes, its rewrites keep the function, and what it quantizes
runs and is what ONNX Runtime makes of it."""
import json
import os

import numpy as np
import onnx

import random_graphs
from harness import expect, expect_equal, quarkq, temp_folder, test
from reference import check_model, cosine, read_results, session

SEEDS = list(range(24))
IN_A_TEST = 4
GROUPS = [(f"{start}-{start + IN_A_TEST - 1}", SEEDS[start:start + IN_A_TEST]) for start in range(0, len(SEEDS), IN_A_TEST)]
SAMPLE_FILES = ["0.npy", "1.npy"]


class Case:
    """One random model in a folder, with two samples and what ONNX Runtime makes of them."""

    def __init__(self, seed, folder, opset=17):
        self.seed, self.folder = seed, os.path.join(folder, str(seed))
        os.makedirs(os.path.join(self.folder, "samples"))
        model, shape = random_graphs.random_model(seed, opset=opset)
        self.model, self.samples = self.path("model.onnx"), self.path("samples")
        onnx.save(model, self.model)
        self.outputs = [output.name for output in model.graph.output]
        rng = np.random.default_rng(1000 + seed)
        self.feeds = {file: rng.uniform(-1, 1, shape).astype(np.float32) for file in SAMPLE_FILES}
        for file, array in self.feeds.items():
            np.save(os.path.join(self.samples, file), array)

    def path(self, name):
        return os.path.join(self.folder, name)

    def in_onnxruntime(self, model, optimize=False):
        runner = session(model, optimize)
        return {file: dict(zip(self.outputs, runner.run(self.outputs, {"x": array}))) for file, array in self.feeds.items()}

    def in_quarkq(self, model, name):
        quarkq("run", model, "--inputs", self.samples, "--outputs", self.path(name), "--quiet")
        return read_results(self.path(name), self.outputs, SAMPLE_FILES)

    def expect_close(self, found, wanted, tolerance, what):
        for file, outputs in wanted.items():
            for name, values in outputs.items():
                mine = found[file][name]
                expect_equal((mine.shape, mine.dtype), (values.shape, values.dtype), f"{what}, seed {self.seed}, {name}: shape and type")
                limit = tolerance * max(1.0, float(np.abs(values).max(initial=0)))
                worst = float(np.abs(mine.astype(np.float64) - values).max(initial=0))
                expect(worst <= limit, f"{what}, seed {self.seed}: {name} of {file} is off by {worst:.3g}, allowed is {limit:.3g}")


def cases_of(seeds, folder, opset=17):
    return [Case(seed, folder, opset) for seed in seeds]


@test(cases=GROUPS)
def are_computed_as_by_onnxruntime(group):
    with temp_folder() as folder:
        for case in cases_of(group[1], folder):
            case.expect_close(case.in_quarkq(case.model, "results"), case.in_onnxruntime(case.model), 2e-5, "quarkq run")


@test(cases=GROUPS)
def keep_their_function_when_optimized(group):
    with temp_folder() as folder:
        for case in cases_of(group[1], folder):
            first, second = case.path("first.onnx"), case.path("second.onnx")
            report = json.loads(quarkq("optimize", case.model, "-o", first, "--json").stdout)
            undone = [finding["subject"] for finding in report["findings"] if finding["id"] in ("pass-rolled-back", "simplify-failed")]
            expect_equal(undone, [], f"passes undone, seed {case.seed}")
            check_model(first)
            case.expect_close(case.in_onnxruntime(first), case.in_onnxruntime(case.model), 5e-5, "optimized")
            quarkq("optimize", first, "-o", second, "--quiet")
            case.expect_close(case.in_onnxruntime(second), case.in_onnxruntime(case.model), 5e-5, "optimized twice")


@test(cases=[(f"{preset} {label}", preset, seeds) for preset in ("A8W8", "XINT8", "A16W8") for label, seeds in GROUPS])
def are_quantized_to_what_onnxruntime_runs(case_of_preset):
    _, preset, seeds = case_of_preset
    with temp_folder() as folder:
        for case in cases_of(seeds, folder):
            out = case.path("quantized.onnx")
            quarkq("quantize", "--config", preset, "--target", "none", "--calib", case.samples, "-o", out, "--quiet", case.model)
            # The operators of com.amd.quark run in ONNX Runtime with a library: test_ort_ops.py.
            if any(node.domain == "com.amd.quark" for node in onnx.load(out).graph.node):
                continue
            check_model(out)
            wanted, found = case.in_onnxruntime(out), case.in_quarkq(out, "quantized")
            for file in SAMPLE_FILES:
                for name in case.outputs:
                    a, b = wanted[file][name], found[file][name]
                    expect_equal(a.shape, b.shape, f"{preset}, seed {case.seed}, {name}: shape")
                    if np.abs(a).max(initial=0) < 1e-3:
                        continue
                    expect(cosine(a, b) > 0.999, f"{preset}, seed {case.seed}: {name} of {file}: cosine {cosine(a, b)}")


# Rewrites that a setting asks for and that keep the function of the float model.
REWRITES = {
    "equalized": ["include_cle=true", "CLESteps=2"],
    "equalized in compat mode": ["include_cle=true", "quarkq.compat=quark-0.13", "ReplaceClip6Relu=false"],
    "for the hardware": ["ConvertSplitToSlice=true", "ConvertBNToConv=true", "ConvertReduceMeanToGlobalAvgPool=true", "SplitLargeKernelPool=true",
                         "QuantizeAllOpTypes=true"],
    "with own initializers": ["CopySharedInit=[Conv, Gemm, MatMul, Add, Mul]", "CopyBiasInit=[Conv, Gemm]"],
    "without the simplifier": ["SimplifyModel=false"],
    "without the optimizer": ["OptimizeModel=false"],
    "without both": ["SimplifyModel=false", "OptimizeModel=false"],
}


@test(cases=[(f"{name} {label}", settings, seeds) for name, settings in REWRITES.items() for label, seeds in GROUPS[::2]])
def keep_their_function_when_rewritten(case_of_rewrite):
    _, settings, seeds = case_of_rewrite
    with temp_folder() as folder:
        for case in cases_of(seeds, folder):
            out = case.path("rewritten.onnx")
            quarkq("optimize", case.model, "-o", out, "--config", "A8W8", "--quiet", *(part for one in settings for part in ("--set", one)))
            check_model(out)
            case.expect_close(case.in_onnxruntime(out), case.in_onnxruntime(case.model), 2e-3, "rewritten")


@test(cases=[(f"opset {opset}, {label}", opset, seeds) for opset in (13, 14, 15, 16) for label, seeds in GROUPS[::4]])
def of_older_opsets_too(case_of_opset):
    _, opset, seeds = case_of_opset
    with temp_folder() as folder:
        for case in cases_of(seeds, folder, opset):
            out = case.path("quantized.onnx")
            case.expect_close(case.in_quarkq(case.model, "results"), case.in_onnxruntime(case.model), 2e-5, f"quarkq run, opset {opset}")
            quarkq("quantize", "--config", "A8W8", "--calib", case.samples, "-o", out, "--quiet", case.model)
            check_model(out)
            case.expect_close(case.in_quarkq(out, "quantized"), case.in_onnxruntime(out), 0.2, f"quantized, opset {opset}")


# Settings under which much else is written.
KINDS = {
    "per channel": ("A8W8", ["per_channel=true"]),
    "asymmetric": ("U8S8_AAWS", []),
    "with dedicated pairs": ("A8W8", ["DedicatedQDQPair=true"]),
    "with pairs on weights": ("A8W8", ["AddQDQPairToWeight=true"]),
    "in compat mode": ("A8W8", ["quarkq.compat=quark-0.13"]),
    "for the NPU in compat mode": ("XINT8", ["quarkq.compat=quark-0.13"]),
    "by percentile": ("A8W8", ["calibrate_method=CalibrationMethod.Percentile"]),
    "without biases": ("A8W8", ["QuantizeBias=false"]),
    "smoothed": ("A8W8", ["include_sq=true"]),
    "dynamically": ("UINT8_DYNAMIC_QUANT", []),
}


@test(cases=[(f"{name} {label}", kind, seeds) for name, kind in KINDS.items() for label, seeds in GROUPS[1::3]])
def are_quantized_in_other_ways(case_of_kind):
    name, (preset, settings), seeds = case_of_kind
    with temp_folder() as folder:
        for case in cases_of(seeds, folder):
            out = case.path("quantized.onnx")
            sets = [part for one in settings for part in ("--set", one)]
            quarkq("quantize", "--config", preset, "--calib", case.samples, "-o", out, "--quiet", *sets, case.model)
            check_model(out)
            wanted, found = case.in_onnxruntime(out), case.in_quarkq(out, "quantized")
            for file in SAMPLE_FILES:
                for output in case.outputs:
                    a, b = wanted[file][output], found[file][output]
                    expect_equal((a.shape, a.dtype), (b.shape, b.dtype), f"{name}, seed {case.seed}, {output}: shape and type")
                    if np.abs(a).max(initial=0) >= 1e-3:
                        expect(cosine(a, b) > 0.999, f"{name}, seed {case.seed}: {output} of {file}: cosine {cosine(a, b)}")
