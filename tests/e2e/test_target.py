# SPDX-License-Identifier: MIT
"""quarkq quantize --target: a model that the compiler of a target takes, and plain words where it does not."""
import json
import os

import numpy as np
import onnx
from onnx import TensorProto

from harness import expect, expect_equal, quarkq, run, temp_folder, test
from reference import session
from target_network import detector, network, samples

INTEGER_TARGETS = ("x1", "x2", "winml", "gen2-vint8", "gen2-mixed")
FLOAT_TARGETS = ("vaiml-bf16", "gen2-bf16", "gen2-fp16")
CURED = ("conv-implicit-attributes", "names-not-unique", "symbolic-batch", "opset-above", "qdq-microsoft", "shared-dq", "not-sorted",
         "rank-above", "channel-shuffle", "prelu", "opset-other")


def quantized(folder, target, *options, model=None):
    """(path of the result, report)"""
    model = model or network(folder)
    out, report = os.path.join(folder, "out.onnx"), os.path.join(folder, "report.json")
    quarkq("quantize", model, "--target", target, "--calib", samples(folder), "-o", out, "--report", report, *options)
    with open(report) as file:
        return out, json.load(file)


def findings(path, target):
    result = run("check", path, "--target", target, "--json", "-")
    return {finding["rule"]: finding for finding in json.loads(result.stdout)["findings"]}


def results(path):
    x = np.random.default_rng(9).random((1, 3, 8, 8), dtype=np.float32)
    return session(path).run(None, {"x": x})[0]


@test(cases=INTEGER_TARGETS)
def what_a_rewrite_cures_is_cured(target):
    with temp_folder() as folder:
        model = network(folder)
        before = findings(model, target)
        expect("names-not-unique" in before, f"the model has unnamed nodes, found {sorted(before)}")
        out, report = quantized(folder, target, model=model)
        left = set(findings(out, target)) & set(CURED)
        expect(not left, f"{target} still finds {sorted(left)}")
        expect_equal(report["target"]["name"], target, "target of the report")
        onnx.checker.check_model(out, full_check=True)
        a, b = results(model).ravel(), results(out).ravel()
        expect(float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)) > 0.98, "outputs differ from the float ones")


@test(cases=INTEGER_TARGETS)
def quantize_says_what_check_says(target):
    with temp_folder() as folder:
        out, report = quantized(folder, target)
        checked = json.loads(run("check", out, "--target", target, "--json", "-").stdout)
        said = report["target"]
        expect_equal((said["verdict"], said["npu"], said["subgraphs"]),
                     (checked["verdict"], checked["predicted"]["npu"], checked["predicted"]["subgraphs"]), "what is said of the result")


@test(cases=FLOAT_TARGETS)
def compilers_that_convert_get_the_rewritten_float_model(target):
    with temp_folder() as folder:
        model = network(folder)
        out, report = quantized(folder, target, model=model)
        written = onnx.load(out)
        ops = {node.op_type for node in written.graph.node}
        expect(not ops & {"QuantizeLinear", "DequantizeLinear"}, f"found {sorted(ops)} in a float model")
        expect_equal(report["target"]["verdict"] == "blocked", False, f"{target} refuses its own result")
        batch = written.graph.input[0].type.tensor_type.shape.dim[0]
        expect_equal(batch.dim_value, 1, "batch")
        for node in written.graph.node:
            if node.op_type == "Conv":
                expect({"strides", "pads", "dilations", "kernel_shape", "group"} <= {one.name for one in node.attribute}, "attributes")
        np.testing.assert_allclose(results(model), results(out), rtol=1e-4, atol=1e-5)


@test()
def a_users_own_value_is_stronger_than_the_targets():
    with temp_folder() as folder:
        out, _ = quantized(folder, "x2", "--set", "legalize.opset=15", "--set", "legalize.node_names=false")
        model = onnx.load(out)
        expect_equal([one.version for one in model.opset_import if one.domain == ""], [15], "opset")
        out, _ = quantized(folder, "x2", "--config", "xint8")
        types = {tensor.data_type for tensor in onnx.load(out).graph.initializer}
        expect(TensorProto.UINT8 in types or TensorProto.INT8 in types, "a preset beside the target is used")
        report = quantized(folder, "x2", "--config", "xint8")[1]
        expect_equal(report["preset"], "XINT8", "preset")


@test()
def the_targets_preset_is_the_default():
    with temp_folder() as folder:
        expect_equal(quantized(folder, "x1")[1]["preset"], "XINT8", "preset of x1")
        expect_equal(quantized(folder, "x2")[1]["preset"], "A8W8", "preset of x2")


@test()
def bytes_are_of_ai_onnx_where_a_target_is_given():
    with temp_folder() as folder:
        domains = {node.domain for node in onnx.load(quantized(folder, "x2")[0]).graph.node if "Quantize" in node.op_type}
        expect_equal(domains, {""}, "domains of 8-bit Q/DQ")
        wide = onnx.load(quantized(folder, "x2", "--config", "a16w8")[0])
        types = {tensor.name: tensor.data_type for tensor in wide.graph.initializer}
        for node in wide.graph.node:
            if "QuantizeLinear" in node.op_type and len(node.input) > 2:
                is_wide = types[node.input[2]] in (TensorProto.INT16, TensorProto.UINT16)
                expect_equal(node.domain, "com.microsoft" if is_wide else "", f"domain of {node.name}")


@test()
def what_the_compiler_refuses_is_said():
    with temp_folder() as folder:
        out, report = quantized(folder, "x1", "--config", "a8w8")
        expect_equal(report["target"]["verdict"], "blocked", "verdict")
        refused = [one for one in report["findings"] if one["id"] == "target-refuses"]
        expect(refused and "power-of-two scales" in refused[0]["text"], f"found {report['findings']}")
        expect(refused[0]["text"].startswith("the compiler places no node on the NPU: the model is of type a8w8"), refused[0]["text"])
        for one in report["findings"]:  # what that was seen in is for quarkq check
            expect("grade" not in one["text"] and "BENCHMARKS" not in one["text"], one["text"])
        wrong = [one for one in report["findings"] if one["id"] == "target-computes-wrong"]
        expect(wrong and "scale-not-power-of-two" in wrong[0]["text"], f"found {report['findings']}")
        expect(os.path.exists(out), "the model is written nevertheless")
        plain = quarkq("quantize", network(folder), "--target", "x2", "--calib", samples(folder), "-o", out)
        expect("deployable on x2: " in plain.stdout, f"no line about the target in {plain.stdout}")


@test()
def shapes_are_fixed_and_checked():
    with temp_folder() as folder:
        out, report = quantized(folder, "x2", "--shape", "x=1,3,8,8")
        dims = [dim.dim_value for dim in onnx.load(out).graph.input[0].type.tensor_type.shape.dim]
        expect_equal(dims, [1, 3, 8, 8], "shape of the input")
        expect(any(one["id"] == "shape-set" for one in report["findings"]), "a notice of the shape")
        for shape, text in (("x=1,3,9,8", "a dimension that is a number cannot be changed"), ("y=1,3,8,8", "is not an input of the model"),
                            ("x=1,0,8,8", "allowed is 1 or more"), ("x", "allowed is INPUT=1,3,224,224")):
            refused = run("quantize", network(folder), "--target", "x2", "--shape", shape, "--calib", samples(folder), "-o", out)
            expect(refused.returncode != 0 and text in refused.stderr, f"{shape}: found {refused.stderr}")


@test()
def statistics_of_a_target_give_the_same_bytes():
    with temp_folder() as folder:
        model, stats, other = network(folder), os.path.join(folder, "s.qqstats"), os.path.join(folder, "other.onnx")
        out, _ = quantized(folder, "x2", "--no-verify", model=model)
        quarkq("calibrate", model, "--target", "x2", "--calib", samples(folder), "-o", stats)
        quarkq("quantize", model, "--target", "x2", "--stats", stats, "--no-verify", "-o", other)
        with open(out, "rb") as a, open(other, "rb") as b:
            expect_equal(a.read() == b.read(), True, "the same bytes")


@test()
def deployment_files_come_from_the_target():
    with temp_folder() as folder:
        deploy = os.path.join(folder, "deploy")
        quantized(folder, "gen2-mixed", "--deploy", deploy)
        with open(os.path.join(deploy, "vitisai_config.json")) as file:
            config = json.load(file)
        partition = next(one for one in config["passes"] if one["name"] == "vaiml_partition")
        expect_equal(partition["vaiml_config"]["device"], "ve2-xc2ve3858", "device")
        expect_equal(partition["vaiml_config"]["enable_f32_to_bf16_conversion"], True, "conversion of float parts")
        with open(os.path.join(deploy, "provider_options.json")) as file:
            expect_equal(json.load(file)["config_file"], "vitisai_config.json", "config_file")
        with open(os.path.join(deploy, "deployment.md")) as file:
            expect("quarkq check out.onnx --target gen2-mixed" in file.read(), "the page says how to check")
        keys = set()
        for name in ("model_a", "model_b"):
            quantized(folder, "x2", "--deploy", deploy, model=network(folder, opset=13 if name == "model_a" else 17, end="sum" if name == "model_a" else "e"))
            with open(os.path.join(deploy, "provider_options.json")) as file:
                keys.add(json.load(file)["cache_key"])
        expect_equal(len(keys), 2, "cache keys of two models")
        refused = run("quantize", network(folder), "--config", "xint8", "--target", "none", "--calib", samples(folder), "--deploy", deploy)
        expect_equal(refused.returncode, 2, "--deploy without a target")


@test()
def a_file_of_ones_own_extends_a_target():
    with temp_folder() as folder:
        path = os.path.join(folder, "lab.yaml")
        row = "{set: %s, value: %s, grade: C, source: lab notes}"
        with open(path, "w") as file:
            file.write("format: 1\nextends: x2\ntitle: Lab\nsettings:\n  - " + row % ("legalize.opset", "15") + "\n")
        model = onnx.load(quantized(folder, path)[0])
        expect_equal([one.version for one in model.opset_import if one.domain == ""], [15], "opset of the own file")
        with open(path, "w") as file:
            file.write("format: 1\nextends: x2\ntitle: Lab\nsettings:\n  - " + row % ("legalise.opset", "15") + "\n")
        refused = run("quantize", network(folder), "--target", path, "--calib", samples(folder))
        expect(refused.returncode != 0 and "legalise.opset" in refused.stderr, f"found {refused.stderr}")


@test()
def compat_mode_knows_no_targets():
    with temp_folder() as folder:
        refused = run("quantize", network(folder), "--target", "x2", "--compat", "quark-0.13", "--calib", samples(folder))
        expect(refused.returncode != 0 and "--compat" in refused.stderr and "target" in refused.stderr, f"found {refused.stderr}")


@test()
def a_tail_stays_float_for_mixed_compilers():
    with temp_folder() as folder:
        path, _ = quantized(folder, "gen2-mixed", model=detector(folder))
        model = onnx.load(path)
        made = {output: node for node in model.graph.node for output in node.output}
        tail = {"Slice", "Exp", "Mul", "Sigmoid", "Concat"}
        read = {made[name].op_type for node in model.graph.node if node.op_type in tail for name in node.input if name in made}
        expect_equal(read, {"DequantizeLinear", *tail} - {"Concat"}, "what the tail reads")
        dq = [name for node in model.graph.node if node.op_type in tail for name in node.input if name in made and made[name].op_type == "DequantizeLinear"]
        expect_equal(len(dq), 3, "pairs at the border: two Slices and a Sigmoid")


@test(cases=["xint8", "a8w8", "a16w8", "vint8", "xint8_adaround", "bf16"])
def a_preset_names_the_compiler_it_is_for(preset):
    compiler = {"xint8": "x1", "xint8_adaround": "x1", "a8w8": "x2", "a16w8": "x2", "vint8": "gen2-vint8"}.get(preset)
    with temp_folder() as folder:
        out, report = os.path.join(folder, "out.onnx"), os.path.join(folder, "report.json")
        result = run("quantize", network(folder), "--config", preset, "--calib", samples(folder), "-o", out, "--report", report)
        expect_equal(result.returncode, 0, result.stderr)
        with open(report) as file:
            target = json.load(file)["target"]
        if compiler is None:
            expect(target is None and "target   " not in result.stdout, f"{preset} is judged for {target}")
            return
        expect_equal((target["name"], target["asked"]), (compiler, False), "target of the report")
        expect(f"deployable on {compiler}: " in result.stdout, f"the summary is {result.stdout}")
        expect(f"{compiler} is the target of {preset.upper()}" in result.stdout, f"the summary is {result.stdout}")
        expect("[target-" not in result.stderr, f"warned for a target that nobody asked for: {result.stderr}")
        checked = json.loads(run("check", out, "--target", compiler, "--json", "-").stdout)
        expect_equal(target["verdict"], checked["verdict"], "verdict")
