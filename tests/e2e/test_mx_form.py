# SPDX-License-Identifier: MIT
"""quarkq.mx_form: standard. Microscaling formats in Q/DQ of opset 28 with FLOAT8E8M0 scales: the checker accepts them, and they compute the values that
the custom operators compute."""
import io
import json
import os

import numpy as np
import onnx
from onnx import TensorProto

from harness import expect, expect_equal, quarkq, read_bytes, run, shared, temp_folder, test
from reference import folder_bytes, shared_model

PRESETS = {"mxfp4e2m1": TensorProto.FLOAT4E2M1, "mxfp6e2m3": TensorProto.FLOAT6E2M3, "mxfp6e3m2": TensorProto.FLOAT6E3M2,
           "mxfp8e4m3": TensorProto.FLOAT8E4M3FN, "mxfp8e5m2": TensorProto.FLOAT8E5M2, "mxint8": TensorProto.INT8}
NETWORKS = {"resnet8_cifar10": [], "vit_digits": ["--shape", "image=1,1,8,8"], "mobilenetv3_digits": [], "ultraface_rfb_320": ["--set", "ConvertOpsetVersion=13"], "char_gpt": []}


def quantized(network, preset, form, folder, *more):
    out = os.path.join(folder, f"{preset}_{form}.onnx")
    result = quarkq("quantize", shared_model(network), "--config", preset, "-o", out, "--set", f"quarkq.mx_form={form}", "--json",
                    "--calib", shared("golden", "inputs", network, "calib"), "--on-collapse", "warn", *more)
    return out, json.loads(result.stdout)


def results(model, network):
    """{path: array} of what `quarkq run` writes."""
    out = model[:-5] + "_results"
    quarkq("run", model, "--inputs", shared("golden", "inputs", network, "eval"), "--outputs", out, "--quiet")
    return {name: np.load(io.BytesIO(data)) for name, data in folder_bytes(out).items()}


@test(cases=[(f"{network} {preset}", network, preset) for network in NETWORKS for preset in PRESETS])
def both_forms_compute_the_same_values(case):
    _, network, preset = case
    with temp_folder() as folder:
        custom, _ = quantized(network, preset, "custom", folder, *NETWORKS[network])
        standard, report = quantized(network, preset, "standard", folder, *NETWORKS[network])
        onnx.checker.check_model(standard, full_check=True)
        model = onnx.load(standard)
        kept = [finding["subject"] for finding in report["findings"] if finding["id"] == "mx-not-standard"]
        found = [node.name for node in model.graph.node if node.domain == "com.amd.quark"]
        expect_equal(len(found), len(kept), f"custom operators, of which {kept} are reported")
        if network != "char_gpt":  # its sequences are dynamic
            expect(not found, f"{found[:3]} are custom operators")
        expect_equal(([one.version for one in model.opset_import if not one.domain], model.ir_version), ([28], 14), "opset and IR")
        types = {one.data_type for one in model.graph.initializer}
        expect({PRESETS[preset], TensorProto.FLOAT8E8M0} <= types, f"stored types {types}")
        expect(os.path.getsize(standard) < os.path.getsize(custom), "weights are stored in the format")
        first, second = results(standard, network), results(custom, network)
        expect_equal(sorted(first), sorted(second), "files")
        # The custom operator has no negative zero in small floats; the standard ones have.
        different = [name for name in first if not np.array_equal(first[name], second[name], equal_nan=True)]
        print(f"{network} {preset}: {len(different)} of {len(first)} results differ")
        expect(not different, f"{different[:2]} differ")


@test()
def no_onnxruntime_has_the_kernels():
    with temp_folder() as folder:
        standard, _ = quantized("resnet8_cifar10", "mxfp8e4m3", "standard", folder)
        report = json.loads(run("check", standard, "--target", "ort-cpu", "--json").stdout)
        finding = next(one for one in report["findings"] if one["rule"] == "qdq-microscaling")
        expect_equal((report["verdict"], finding["effect"], finding["remedy"]), ("blocked", "crash", "custom-mx-form"), "verdict")
        custom, _ = quantized("resnet8_cifar10", "mxfp8e4m3", "custom", folder)
        rules = [one["rule"] for one in json.loads(run("check", custom, "--target", "ort-cpu", "--json").stdout)["findings"]]
        expect("qdq-microscaling" not in rules and "qdq-quark" in rules, f"rules of the custom form: {rules}")


@test()
def other_block_formats_stay_and_are_named():
    with temp_folder() as folder:
        out, report = quantized("resnet8_cifar10", "mx6", "standard", folder)
        texts = [finding["text"] for finding in report["findings"] if finding["id"] == "mx-not-standard"]
        expect(len(texts) == 1 and "MXFP4" in texts[0], f"found {texts}")
        plain, _ = quantized("resnet8_cifar10", "mx6", "custom", folder, "--set", "quarkq.metadata=false")
        again, _ = quantized("resnet8_cifar10", "mx6", "standard", folder, "--set", "quarkq.metadata=false")
        expect(read_bytes(plain) == read_bytes(again), "the model is the same")


@test()
def compat_keeps_the_scales_of_the_reference():
    """round_scale_up is an attribute of ours; with it, the largest values of blocks are not clipped."""
    with temp_folder() as folder:
        def attributes(*more):
            out, _ = quantized("resnet8_cifar10", "mxfp4e2m1", "custom", folder, *more)
            return {attribute.name for node in onnx.load(out).graph.node for attribute in node.attribute if "MX" in node.op_type}
        expect("round_scale_up" in attributes(), "ours")
        expect_equal(attributes("--compat", "quark-0.13"), {"element_dtype", "axis", "block_size", "rounding_mode"}, "compat")


@test()
def unknown_form_is_refused():
    result = run("quantize", shared_model("resnet8_cifar10"), "--config", "mxint8", "--set", "quarkq.mx_form=ocp")
    expect(result.returncode == 2 and "custom" in result.stderr and "standard" in result.stderr, result.stderr)
