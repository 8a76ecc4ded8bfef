# SPDX-License-Identifier: MIT
"""UserCustomOpLibPath: models with operators of a user's library, which run in ONNX Runtime while quarkq calibrates and compares."""
import json
import os

import numpy as np
import onnx
from onnx import numpy_helper

from custom_operator import library, outputs, prepare, with_runtime
from harness import expect, expect_error, expect_equal, quarkq, run, temp_folder, test


@test(cases=["file", "folder", "list"])
def a_model_with_custom_operators_is_quantized(form):
    with temp_folder() as folder:
        own = library(folder)
        model, calib = prepare(folder)
        out = os.path.join(folder, "q.onnx")
        value = {"file": own, "folder": folder, "list": f"[{own}]"}[form]
        report = json.loads(quarkq("quantize", model, "--config", "a8w8", "--calib", calib, "-o", out, "--json", "--set", f"UserCustomOpLibPath={value}",
                                   env=with_runtime()).stdout)
        graph = onnx.load(out).graph
        quantized = {node.input[0] for node in graph.node if node.op_type == "QuantizeLinear"}
        expect({"x", "b"} <= quantized, f"quantized activations are {quantized}, expected the input of both Convs among them")
        stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        scale = next(float(stored[node.input[1]]) for node in graph.node if node.op_type == "QuantizeLinear" and node.input[0] == "b")
        expect(0.9 * 3 / 127 < scale <= 1.01 * 3 / 127, f"scale {scale} of values within [-3, 3]")
        notice = [finding["text"] for finding in report["findings"] if finding["id"] == "custom-operators"]
        expect_equal(notice, ["1 x test.ops::ScaledTanh in ONNX Runtime"], "notice")
        feed = np.load(os.path.join(calib, "0.npy"))
        one, other = (outputs(path, feed, own).ravel() for path in (model, out))
        found = float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))
        expect(found > 0.999, f"cosine {found} with the float model in ONNX Runtime")
        expect(report["outputs"][0]["cosine"] > 0.999, f"cosine {report['outputs'][0]['cosine']} in the report")
        return f"cosine {found:.6f}; quarkq found {report['outputs'][0]['cosine']:.6f}"


@test()
def run_computes_what_onnxruntime_computes():
    with temp_folder() as folder:
        own = library(folder)
        model, calib = prepare(folder)
        results = os.path.join(folder, "results")
        quarkq("run", model, "--inputs", calib, "--outputs", results, "--set", f"UserCustomOpLibPath={own}", env=with_runtime())
        for file in sorted(os.listdir(calib)):
            wanted = outputs(model, np.load(os.path.join(calib, file)), own)
            difference = float(np.abs(np.load(os.path.join(results, file)) - wanted).max())
            expect(difference < 1e-5, f"{file}: off by {difference}")


@test(cases=[1, 2])
def results_do_not_depend_on_threads(threads):
    with temp_folder() as folder:
        own = library(folder)
        model, calib = prepare(folder)
        files = [os.path.join(folder, f"{i}.onnx") for i in range(2)]
        for path, number in zip(files, (threads, 2)):
            quarkq("quantize", model, "--config", "xint8", "--calib", calib, "-o", path, "--threads", number, "--set", f"UserCustomOpLibPath={own}", env=with_runtime())
        with open(files[0], "rb") as one, open(files[1], "rb") as other:
            expect(one.read() == other.read(), "other bytes with another number of threads")


@test(cases=[("no-library", "lib/none.so", "is not there"), ("no-runtime", None, "pip install onnxruntime"), ("not-a-library", "m.onnx", "UserCustomOpLibPath"),
             ("empty-folder", "calib", "contains no .so file"), ("wrong-kind", "3", "UserCustomOpLibPath")])
def what_is_missing_is_named(case):
    name, value, words = case
    with temp_folder() as folder:
        own = library(folder)
        model, calib = prepare(folder)
        environment = with_runtime() if name != "no-runtime" else {**os.environ, "QUARKQ_ONNXRUNTIME": os.path.join(folder, "none.so")}
        given = own if value is None else value if value == "3" else os.path.join(folder, value)
        result = run("quantize", model, "--config", "a8w8", "--calib", calib, "-o", os.path.join(folder, "o.onnx"), "--set", f"UserCustomOpLibPath={given}", env=environment)
        expect(result.returncode in (2, 3) and words in result.stderr, f"exit code {result.returncode}: {result.stderr}")
        expect(not os.path.exists(os.path.join(folder, "o.onnx")), "a result was written")


@test()
def without_the_option_the_operator_has_no_kernel():
    with temp_folder() as folder:
        model, calib = prepare(folder)
        result = run("run", model, "--inputs", calib, "--outputs", os.path.join(folder, "r"))
        expect_error(result, 3, "ScaledTanh", "has no kernel")


@test(cases=["quantize", "calibrate", "analyze"])
def unknown_operators_are_refused_at_once(verb):
    """Before the model is prepared, with the option that names their library; a backend of others is no help."""
    with temp_folder() as folder:
        model, calib = prepare(folder)
        output = [] if verb == "analyze" else ["-o", os.path.join(folder, "o")]
        result = run(verb, model, "--config", "a8w8", "--calib", calib, *output, "-v")
        expect_error(result, 3, "ScaledTanh", "is unknown", "UserCustomOpLibPath")
        expect("--backend" not in result.stderr and "quarkq: calibrate" not in result.stderr, f"the message is {result.stderr}")
        # A preset that runs no samples leaves the node as it is.
        quarkq("quantize", model, "--config", "uint8_dynamic_quant", "-o", os.path.join(folder, "d.onnx"), "--no-verify")


@test()
def a_settings_file_names_no_code_to_run():
    with temp_folder() as folder:
        own = library(folder)
        model, calib = prepare(folder)
        settings, out = os.path.join(folder, "s.yaml"), os.path.join(folder, "o.onnx")
        with open(settings, "w", encoding="utf-8") as file:
            file.write(f"preset: A8W8\nextra_options: {{UserCustomOpLibPath: {own}}}\n")
        result = run("quantize", model, "--config", settings, "--calib", calib, "-o", out, env=with_runtime())
        expect_error(result, 2, "--set UserCustomOpLibPath")
        expect(not os.path.exists(out), "a result was written")
