# SPDX-License-Identifier: MIT
"""--backend ort: float models, and whatever `quarkq run` gets, in a session of ONNX Runtime."""
import json
import os
import resource

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from custom_operator import library, outputs, prepare, runtime, with_runtime
from harness import Skip, expect, expect_error, expect_equal, quarkq, run, shared, temp_folder, test
from reference import load_samples, results_like

CPU = f"onnxruntime {onnxruntime.__version__} (CPUExecutionProvider)"


def session_results(model, samples, limit):
    """{file: {output: array}} in a session as anybody makes it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    feeds = dict(list(load_samples(samples, [one.name for one in session.get_inputs()]).items())[:limit])
    return {file: dict(zip(names, session.run(names, feed))) for file, feed in feeds.items()}


def expect_equal_results(model, inputs, folder, limit=4):
    """What `quarkq run --backend ort` writes is what a session of ONNX Runtime computes, in form and in bits."""
    results = os.path.join(folder, "results")
    quarkq("run", model, "--inputs", inputs, "--outputs", results, "--backend", "ort", "--limit", limit, "--threads", 2, env=with_runtime())
    wanted = session_results(model, inputs, limit)
    found = results_like(results, wanted)
    for file, arrays in wanted.items():
        for name, array in arrays.items():
            expect_equal((found[file][name].dtype, found[file][name].shape), (array.dtype, array.shape), f"{file}, {name}")
            expect(np.array_equal(found[file][name], array), f"{file}, {name}: other values than ONNX Runtime's")


@test(cases=["resnet8_cifar10", "mobilenetv1_025_vww_96", "nanodet_m_416", "silero_vad_16k", "char_gpt", "mobilenetv3_digits", "mobilenetv3_digits_fp16"])
def run_gives_the_values_of_onnxruntime(name):
    with temp_folder() as folder:
        expect_equal_results(shared("models", f"{name}.onnx"), shared("golden", "inputs", name, "calib"), folder)


@test(cases=["a8w8", "xint8"])
def run_takes_quantized_models(preset):
    model, calib = shared("models", "resnet8_cifar10.onnx"), shared("golden", "inputs", "resnet8_cifar10", "calib")
    with temp_folder() as folder:
        quantized = os.path.join(folder, "q.onnx")
        quarkq("quantize", model, "--config", preset, "--calib", calib, "-o", quantized)
        expect_equal_results(quantized, calib, folder)


def scales(path):
    model = onnx.load(path)
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    return {node.input[0]: stored[node.input[1]] for node in model.graph.node if node.op_type == "QuantizeLinear"}


@test(cases=[(f"{name}-{preset}", name, preset) for name in ("resnet8_cifar10", "mobilenetv1_025_vww_96", "superres_x3") for preset in ("a8w8", "xint8")])
def calibration_gives_the_scales_of_the_own_executor(case):
    _, name, preset = case
    model, calib = shared("models", f"{name}.onnx"), shared("golden", "inputs", name, "calib")
    with temp_folder() as folder:
        own, other = os.path.join(folder, "own.onnx"), os.path.join(folder, "other.onnx")
        quarkq("quantize", model, "--config", preset, "--calib", calib, "-o", own)
        report = json.loads(quarkq("quantize", model, "--config", preset, "--calib", calib, "-o", other, "--backend", "ort", "--json", env=with_runtime()).stdout)
        expect_equal([finding["text"] for finding in report["findings"] if finding["id"] == "backend"], [f"calibrated with {CPU}"], "notice")
        wanted, found = scales(own), scales(other)
    expect_equal(sorted(found), sorted(wanted), "quantized tensors")
    expect(len(wanted) > 5, f"only {len(wanted)} quantized tensors")
    worst = max(float(np.max(np.abs(found[tensor] / wanted[tensor] - 1))) for tensor in wanted)
    expect(worst == 0 if preset == "xint8" else worst < 1e-4, f"a scale differs by {worst}")
    return f"{len(wanted)} scales, relative difference at most {worst:.1e}"


@test()
def statistics_name_their_backend():
    model, calib = shared("models", "resnet8_cifar10.onnx"), shared("golden", "inputs", "resnet8_cifar10", "calib")
    with temp_folder() as folder:
        parts = [os.path.join(folder, f"{i}.stats") for i in range(2)]
        report = json.loads(quarkq("calibrate", model, "--config", "a8w8", "--target", "none", "--calib", calib, "--shard", "0/2", "-o", parts[0], "--backend", "ort", "--json",
                                   env=with_runtime()).stdout)
        expect_equal([finding["text"] for finding in report["findings"]], [f"calibrated with {CPU}"], "findings")
        quarkq("calibrate", model, "--config", "a8w8", "--target", "none", "--calib", calib, "--shard", "1/2", "-o", parts[1])
        mixed = run("merge", *parts, "-o", os.path.join(folder, "all.stats"))
        expect_error(mixed, 4, "quarkq.backend")
        quarkq("calibrate", model, "--config", "a8w8", "--target", "none", "--calib", calib, "--shard", "1/2", "-o", parts[1], "--set", "quarkq.backend=ort", env=with_runtime())
        quarkq("merge", *parts, "-o", os.path.join(folder, "all.stats"))
        # Who reads them needs no ONNX Runtime.
        quarkq("quantize", model, "--config", "a8w8", "--target", "none", "--stats", os.path.join(folder, "all.stats"), "-o", os.path.join(folder, "q.onnx"), "--no-verify",
               env=without_runtime(folder))


def without_runtime(folder):
    return {**os.environ, "QUARKQ_ONNXRUNTIME": os.path.join(folder, "none.so")}


def small_files(folder):
    """A Conv, and its samples."""
    model, calib = os.path.join(folder, "m.onnx"), os.path.join(folder, "calib")
    random = np.random.default_rng(3)
    weight = numpy_helper.from_array(random.normal(0, 0.3, (8, 3, 3, 3)).astype(np.float32), "w")
    save(model, [helper.make_node("Conv", ["x", "w"], ["y"], "conv")], [1, 3, 8, 8], [1, 8, 6, 6], [weight])
    write_samples(calib, (1, 3, 8, 8))
    return model, calib


def save(path, nodes, shape, result, tensors=(), element=TensorProto.FLOAT):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)], [helper.make_tensor_value_info("y", element, result)],
                              tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8), path)


def write_samples(folder, shape, count=8):
    os.makedirs(folder)
    for i in range(count):
        np.save(os.path.join(folder, f"{i}.npy"), np.random.default_rng(i).normal(0, 1, shape).astype(np.float32))


REFUSALS = {
    "unavailable": ("ort:vitisai", 2, ["ort:vitisai", "execution providers", "CPU"]),
    "unknown": ("ort:toaster", 2, ["ort:toaster", "execution providers", "CPU"]),
    "no-provider": ("ort:", 2, ["found ort:", "native, ort or ort:PROVIDER"]),
    "other-runtime": ("tensorrt", 2, ["found tensorrt", "native, ort or ort:PROVIDER"]),
    "path": ("ort:../../x.so", 2, ["native, ort or ort:PROVIDER"]),
}


@test(cases=list(REFUSALS))
def what_is_not_there_is_refused(case):
    backend, code, words = REFUSALS[case]
    with temp_folder() as folder:
        model, calib = small_files(folder)
        for verb in (["run", model, "--inputs", calib, "--outputs", os.path.join(folder, "r")],
                     ["quantize", model, "--config", "a8w8", "--calib", calib, "-o", os.path.join(folder, "q.onnx")]):
            result = run(*verb, "--backend", backend, env=with_runtime())
            expect_equal(result.returncode, code, f"exit code ({result.stderr})")
            for word in words:
                expect(word in result.stderr, f"{word!r} is not in {result.stderr!r}")
            expect_equal(len(result.stderr.strip().splitlines()), 1, "lines of stderr")
        expect_equal(sorted(os.listdir(folder)), ["calib", "m.onnx"], "files")


@test(cases=["run", "quantize"])
def without_onnxruntime_the_message_says_how_to_get_it(verb):
    with temp_folder() as folder:
        model, calib = small_files(folder)
        given = {"run": ["--inputs", calib, "--outputs", os.path.join(folder, "r")], "quantize": ["--config", "a8w8", "--calib", calib, "-o", os.path.join(folder, "q.onnx")]}
        result = run(verb, model, *given[verb], "--backend", "ort", env=without_runtime(folder))
        expect_error(result, 3, "pip install onnxruntime")
        quarkq(verb, model, *given[verb], "--backend", "native", env=without_runtime(folder))


@test(cases=["ort:cpu", "ort:CPUExecutionProvider", "ort:azure"])
def providers_go_by_either_name(backend):
    """Azure's is in every package from PyPI and leaves all operators to the CPU's."""
    if backend.split(":")[1].lower() not in " ".join(onnxruntime.get_available_providers()).lower():
        return f"{backend} is not in this package"
    with temp_folder() as folder:
        model, calib = small_files(folder)
        results = os.path.join(folder, "r")
        report = json.loads(quarkq("run", model, "--inputs", calib, "--outputs", results, "--backend", backend, "--json", env=with_runtime()).stdout)
        expect(report["backend"].startswith("onnxruntime ") and backend[4:].lower() in report["backend"].lower(), f"backend {report['backend']}")
        wanted = session_results(model, calib, 8)
        for file, arrays in results_like(results, wanted).items():
            expect(np.array_equal(arrays["y"], wanted[file]["y"]), f"{file}: other values")
    return report["backend"]


def without_kernel(folder):
    """Inverse, which ONNX Runtime has and quarkq does not, between operators that are quantized."""
    model, calib = os.path.join(folder, "m.onnx"), os.path.join(folder, "calib")
    random = np.random.default_rng(4)
    tensors = [numpy_helper.from_array((random.normal(0, 0.1, (6, 6)) + np.eye(6)).astype(np.float32), name) for name in ("w1", "w2")]
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["a"], "first"), helper.make_node("Inverse", ["a"], ["b"], "inverse", domain="com.microsoft"),
             helper.make_node("MatMul", ["b", "w2"], ["y"], "second")]
    save(model, nodes, [2, 6, 6], [2, 6, 6], tensors)
    os.makedirs(calib)
    for i in range(8):
        np.save(os.path.join(calib, f"{i}.npy"), (np.random.default_rng(i).normal(0, 0.1, (2, 6, 6)) + np.eye(6)).astype(np.float32))
    return model, calib


@test()
def operators_without_a_kernel_run():
    with temp_folder() as folder:
        model, calib = without_kernel(folder)
        refused = run("run", model, "--inputs", calib, "--outputs", os.path.join(folder, "r"))
        expect_error(refused, 3, "com.microsoft::Inverse", "--backend ort")
        expect_equal_results(model, calib, folder)
        out = os.path.join(folder, "q.onnx")
        report = json.loads(quarkq("quantize", model, "--config", "a8w8", "--calib", calib, "-o", out, "--backend", "ort", "--json", env=with_runtime()).stdout)
        expect({"x", "b"} <= set(scales(out)), f"quantized activations are {sorted(scales(out))}")
        expect(report["outputs"][0]["cosine"] > 0.99, f"cosine {report['outputs'][0]['cosine']} in the report")


@test()
def models_with_operators_of_the_user_run():
    with temp_folder() as folder:
        own = library(folder)
        model, calib = prepare(folder)
        results, out = os.path.join(folder, "results"), os.path.join(folder, "q.onnx")
        libraries = ["--set", f"UserCustomOpLibPath={own}", "--backend", "ort"]
        quarkq("run", model, "--inputs", calib, "--outputs", results, *libraries, env=with_runtime())
        for file in sorted(os.listdir(calib)):
            difference = float(np.abs(np.load(os.path.join(results, file)) - outputs(model, np.load(os.path.join(calib, file)), own)).max())
            expect(difference < 1e-5, f"{file}: off by {difference}")
        quarkq("quantize", model, "--config", "a8w8", "--calib", calib, "-o", out, *libraries, env=with_runtime())
        expect(0.9 * 3 / 127 < float(scales(out)["b"]) <= 1.01 * 3 / 127, f"scale {scales(out)['b']} of values within [-3, 3]")
        refused = run("run", model, "--inputs", calib, "--outputs", results, "--backend", "ort", env=with_runtime())
        expect_error(refused, 3, "ScaledTanh")


@test()
def a_settings_file_may_ask_for_it():
    with temp_folder() as folder:
        model, calib = small_files(folder)
        settings, report = os.path.join(folder, "s.yaml"), os.path.join(folder, "r.json")
        with open(settings, "w", encoding="utf-8") as file:
            file.write("preset: A8W8\nquarkq: {backend: ort}\n")
        common = ["quantize", model, "--config", settings, "--calib", calib, "-o", os.path.join(folder, "q.onnx"), "--report", report]
        for more, wanted in (([], [f"calibrated with {CPU}"]), (["--backend", "native"], [])):
            quarkq(*common, *more, env=with_runtime())
            with open(report, encoding="utf-8") as file:
                found = [finding["text"] for finding in json.load(file)["findings"] if finding["id"] == "backend"]
            expect_equal(found, wanted, f"notices with {more}")


@test()
def what_onnxruntime_refuses_is_one_error_line():
    """Shapes that contradict each other for the second sample only: an error of a kernel, which ONNX Runtime also logs."""
    with temp_folder() as folder:
        model, calib = os.path.join(folder, "m.onnx"), os.path.join(folder, "calib")
        save(model, [helper.make_node("MatMul", ["x", "w"], ["y"], "product")], ["n", "k"], ["n", 3],
             [numpy_helper.from_array(np.ones((4, 3), np.float32), "w")])
        write_samples(calib, (2, 4), count=1)
        np.save(os.path.join(calib, "1.npy"), np.ones((2, 5), np.float32))
        for verb in (["run", model, "--inputs", calib, "--outputs", os.path.join(folder, "r")],
                     ["calibrate", model, "--config", "a8w8", "--calib", calib, "-o", os.path.join(folder, "s")]):
            result = run(*verb, "--backend", "ort", env=with_runtime())
            lines = result.stderr.strip().splitlines()
            expect(result.returncode == 3 and lines[-1].startswith("quarkq: error: ") and "sample 1: ONNX Runtime: " in lines[-1],
                   f"exit code {result.returncode}: {result.stderr}")
            expect(all(line.startswith("quarkq: ") for line in lines), f"stderr has lines of others: {result.stderr}")


@test()
def sequences_are_no_results():
    with temp_folder() as folder:
        model, calib = os.path.join(folder, "m.onnx"), os.path.join(folder, "calib")
        graph = helper.make_graph([helper.make_node("SequenceConstruct", ["x"], ["y"], "make")], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
                                  [helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, [2])])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        write_samples(calib, (2,))
        result = run("run", model, "--inputs", calib, "--outputs", os.path.join(folder, "r"), "--backend", "ort", env=with_runtime())
        expect_error(result, 3, "output y: is a sequence")


@test()
def memory_that_runs_out_ends_the_run():
    with temp_folder() as folder:
        model, calib = os.path.join(folder, "m.onnx"), os.path.join(folder, "calib")
        nodes = [helper.make_node("Expand", ["x", "shape"], ["a"], "expand"), helper.make_node("ReduceMax", ["a"], ["y"], "max", keepdims=0)]
        save(model, nodes, [1], [], [numpy_helper.from_array(np.array([1024, 1024, 1024], np.int64), "shape")])
        write_samples(calib, (1,), count=1)
        for verb in (["run", model, "--inputs", calib, "--outputs", os.path.join(folder, "r")],
                     ["calibrate", model, "--config", "a8w8", "--calib", calib, "-o", os.path.join(folder, "s")]):
            result = run(*verb, "--backend", "ort", env=with_runtime(), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)))
            expect_error(result, 7, "out of memory")


@test()
def it_works_in_the_sandbox():
    with temp_folder() as folder:
        model, calib = small_files(folder)
        results = os.path.join(folder, "results")
        done = run("run", model, "--inputs", calib, "--outputs", results, "--backend", "ort", "--sandbox", env=with_runtime())
        if "--sandbox: this system lacks" in done.stderr:
            raise Skip(done.stderr.strip())
        expect_equal(done.returncode, 0, f"exit code ({done.stderr})")
        expect_equal(len(os.listdir(results)), 8, "results")


@test()
def intermediate_values_are_not_bounded():
    with temp_folder() as folder:
        model, calib = small_files(folder)
        result = run("run", model, "--inputs", calib, "--outputs", os.path.join(folder, "r"), "--backend", "ort", "--max-memory", "1GB", env=with_runtime())
        expect_error(result, 2, "--max-memory")


@test()
def the_library_is_found_in_the_active_environment():
    with temp_folder() as folder:
        model, calib = small_files(folder)
        place = runtime()
        environment = {name: value for name, value in os.environ.items() if name != "QUARKQ_ONNXRUNTIME"}
        environment["VIRTUAL_ENV"] = place[:place.index("/lib/python3")]
        quarkq("run", model, "--inputs", calib, "--outputs", os.path.join(folder, "r"), "--backend", "ort", env=environment)
