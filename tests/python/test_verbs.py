# SPDX-License-Identifier: MIT
"""Each verb from Python: what goes in, what comes out, what is raised."""
import collections
import json
import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import quarkq

from harness import Failure, expect, expect_equal, temp_folder, test
from samples import DIGITS, DIGITS_MODEL, conv_model, digits, load_folder, noise, write_conv_model


def raised(kind, function, *arguments, **options):
    try:
        function(*arguments, **options)
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


@test()
def model_proto_gives_a_model_in_memory():
    report = quarkq.quantize(onnx.load(DIGITS_MODEL), config="xint8", data=digits())
    ops = {node.op_type for node in onnx.load_from_string(report.model).graph.node}
    expect("QuantizeLinear" in ops, f"found only {ops}")
    expect(report.grade in ("good", "fair", "poor"), f"grade {report.grade!r}")
    expect_equal(report["preset"].lower(), "xint8", "preset of the report")


@test()
def a_cut_model_comes_with_its_tail():
    settings = {"legalize.tail": "auto"}
    with temp_folder() as folder:
        out, joined = os.path.join(folder, "q.onnx"), os.path.join(folder, "joined.onnx")
        report = quarkq.quantize(DIGITS_MODEL, config="xint8", target="x1", settings=settings, data=digits())
        expect_equal((report.tail is None, report.joined is None, report["tail"]), (True, True, None), "parts of a whole model")
        model = onnx.load(DIGITS_MODEL)
        logits = model.graph.output[0].name
        model.graph.node.append(onnx.helper.make_node("Softmax", [logits], ["prob"], "prob", axis=1))
        model.graph.output[0].name = "prob"
        report = quarkq.quantize(model, config="xint8", target="x1", data=digits())
        expect_equal([node.op_type for node in onnx.load_from_string(report.tail).graph.node], ["Softmax"], "the tail")
        expect_equal([one["name"] for one in report["outputs"]], ["prob"], "the outputs that are judged")
        (found,) = quarkq.run(report.joined, digits()[:1])
        expect_equal(list(found), ["prob"], "outputs of both")
        filed = quarkq.quantize(model, out, config="xint8", target="x1", data=digits(), joined=joined)
        expect_equal((filed["tail"], filed["joined"], filed.tail), (os.path.join(folder, "q_tail.onnx"), joined, None), "files")
        (paired,) = quarkq.run(out, digits()[:1])
        np.testing.assert_array_equal(paired["prob"], found["prob"])


@test()
def a_target_has_a_preset_and_judges_the_result():
    report = quarkq.quantize(onnx.load(DIGITS_MODEL), target="x2", data=digits())
    expect_equal(report["preset"], "A8W8", "preset of x2")
    expect_equal(report["target"]["name"], "x2", "target")
    checked = quarkq.check(report.model, "x2", max_partitions=0)
    expect_equal(checked["predicted"]["npu"], report["target"]["npu"], "nodes on the NPU")
    expect(any("--max-partitions" in goal for goal in checked["missed_goals"]), f"missed goals {checked['missed_goals']}")
    raised(quarkq.UsageError, quarkq.quantize, DIGITS_MODEL, data=digits())
    raised(quarkq.UsageError, quarkq.quantize, DIGITS_MODEL, target="x2", data=digits(), shapes={"nothing": [1, 2]})


@test()
def metric_decides():
    def metric(sample, expected, found):
        seen.append((sample, {name: array.shape for name, array in expected.items()}))
        return float(np.mean([np.argmax(expected[name]) == np.argmax(found[name]) for name in expected]))
    seen = []
    with temp_folder() as folder:
        output = os.path.join(folder, "q.onnx")
        report = quarkq.quantize(DIGITS_MODEL, output, config="a8w8", data=digits(), metric=metric, require=["metric>=0.5"])
        expect(0.5 <= report.metric <= 1, f"metric {report.metric}")
        expect_equal(len(seen), report["compared"]["samples"], "calls of the metric")
        os.remove(output)
        error = raised(quarkq.QualityGateError, quarkq.quantize, DIGITS_MODEL, output, config="a8w8", data=digits(),
                       metric=lambda sample, expected, found: 0.25, require=["metric>=0.5"])
        expect_equal(error.exit_code, 5, "exit code")
        expect("metric: found 0.25" in error.message, error.message)
        expect(not os.path.exists(output), "an output was written")


@test()
def failed_gate_carries_diagnostics():
    error = raised(quarkq.QualityGateError, quarkq.quantize, DIGITS_MODEL, config="xint8", data=digits(), require=["cos>=0.9999999"],
                   settings={"quarkq.on_collapse": "warn", "quarkq.min_cosine": 0.99999999})
    expect("output-collapsed" in [finding.id for finding in error.diagnostics], f"diagnostics: {error.diagnostics}")


@test()
def a_mapping_of_the_caller_may_name_libraries():
    config = {"preset": "A8W8", "extra_options": {"UserCustomOpLibPath": "none.so"}}
    error = raised(quarkq.UsageError, quarkq.quantize, DIGITS_MODEL, config=config, data=digits())
    expect("none.so is not there" in error.message, f"found {error.message}")


@test()
def batches_of_the_caller_are_cut_for_a_target_of_one_row():
    """Arrays in memory like files: to calibrate, to evaluate and to run."""
    model = conv_model(side=16)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = 3
    batches = [np.concatenate(noise(3, side=16))]
    report = quarkq.quantize(model, config="xint8", target="x1", data=batches, eval_data=batches)
    expect_equal(report["samples"], 3, "samples")
    expect_equal(len(quarkq.run(report.model, batches)), 3, "results")
    expect(quarkq.evaluate(model, report.model, data=batches)["outputs"][0]["cosine"] > 0.99, "cosine")


@test(cases=[("preset", quarkq.UsageError, dict(config="xint9")), ("data", quarkq.DataError, dict(data=[np.zeros((2, 2), "float32")])),
             ("model", quarkq.ModelError, dict(model=b"no model")), ("type", quarkq.DataError, dict(data=["text"])),
             ("empty", quarkq.DataError, dict(data=iter([]))), ("metric without samples", quarkq.UsageError, dict(require=["metric>=1"])),
             ("backend", quarkq.UsageError, dict(settings={"quarkq.backend": "gpu"}))])
def errors_have_a_class_and_an_exit_code(case):
    _, kind, changes = case
    arguments = {"model": DIGITS_MODEL, "config": "a8w8", "data": digits(), **changes}
    error = raised(kind, quarkq.quantize, **arguments)
    expect_equal(type(error), kind, "class")
    expect_equal(error.exit_code, kind.exit_code, "exit code")
    expect(error.message, "no message")


@test()
def the_backend_is_found_beside_the_package():
    """In a process that has not loaded ONNX Runtime itself, without the variables that tell where packages are."""
    program = "import quarkq, sys; print(*(finding.text for finding in quarkq.quantize(sys.argv[1], config='a8w8', data=sys.argv[2]," \
              " settings={'quarkq.backend': 'ort'}).findings if finding.id == 'backend'))"
    environment = {name: value for name, value in os.environ.items() if name not in ("QUARKQ_ONNXRUNTIME", "VIRTUAL_ENV", "HOME")}
    done = subprocess.run([sys.executable, "-c", program, DIGITS_MODEL, os.path.join(DIGITS, "calib")], env=environment, capture_output=True, text=True, check=False)
    expect_equal((done.returncode, done.stdout), (0, f"calibrated with onnxruntime {onnxruntime.__version__} (CPUExecutionProvider)\n"), done.stderr)


@test()
def exceptions_of_callers_pass_through():
    class Broken(Exception):
        pass

    def broken(*_):
        raise Broken("on purpose")

    class Samples(list):
        def __getitem__(self, index):
            return broken() if index == 3 else super().__getitem__(index)
    for options in (dict(metric=broken), dict(progress=broken), dict(preprocess=broken), dict(data=Samples(digits()))):
        raised(Broken, quarkq.quantize, DIGITS_MODEL, **{"config": "a8w8", "data": digits(), **options})


@test()
def progress_may_stop():
    seen = []

    def progress(now):
        seen.append(now)
        return len(seen) < 5
    error = raised(quarkq.Interrupted, quarkq.quantize, DIGITS_MODEL, config="a8w8", data=digits(), progress=progress)
    expect_equal((error.exit_code, len(seen)), (130, 5), "exit code and calls")
    expect(all(isinstance(now.phase, str) and now.done >= 0 for now in seen), f"{seen}")


@test()
def preprocess_and_settings():
    plain = quarkq.quantize(DIGITS_MODEL, config="a8w8", data=digits()).model
    doubled = [sample * 2 for sample in digits()]
    expect_equal(quarkq.quantize(DIGITS_MODEL, config="a8w8", data=doubled, preprocess=lambda sample: sample / 2).model == plain, True,
                 "same model after preprocess")
    config = {"preset": "A8W8", "extra_options": {"CalibDataSize": 2}}
    first = quarkq.quantize(DIGITS_MODEL, config=config, data=digits())
    expect_equal(first["samples"], 2, "samples with CalibDataSize")
    again = quarkq.quantize(DIGITS_MODEL, config="a8w8", data=digits()[:2])
    expect(first.model == again.model, "a dict and a preset differ")


@test()
def calibrate_merge_and_stats():
    with temp_folder() as folder:
        parts = [os.path.join(folder, f"{i}.stats") for i in range(2)]
        for i, part in enumerate(parts):
            quarkq.calibrate(DIGITS_MODEL, part, config="a8w8", data=digits(), shard=(i, 2))
        merged = os.path.join(folder, "all.stats")
        expect_equal(quarkq.merge(parts, merged)["samples"], len(digits()), "samples")
        found = quarkq.quantize(DIGITS_MODEL, config="a8w8", stats=merged, verify=False).model
        expect(found == quarkq.quantize(DIGITS_MODEL, config="a8w8", data=digits(), verify=False).model, "results differ")


@test()
def run_gives_the_results_of_the_program():
    samples = digits()[:3]
    results = quarkq.run(DIGITS_MODEL, samples)
    session = onnxruntime.InferenceSession(DIGITS_MODEL, providers=["CPUExecutionProvider"])
    for sample, outputs in zip(samples, results):
        batch = sample if sample.ndim == len(session.get_inputs()[0].shape) else sample[None]
        wanted = session.run(None, {session.get_inputs()[0].name: batch})
        for array, name in zip(wanted, [output.name for output in session.get_outputs()]):
            expect(np.allclose(array, outputs[name], atol=1e-4), f"{name} differs")
    names = []
    quarkq.run(DIGITS_MODEL, samples, lambda name, arrays: names.append(name))
    expect_equal(len(names), 3, "calls of the function")
    with temp_folder() as folder:
        quarkq.run(DIGITS_MODEL, samples, folder)
        expect_equal(len(os.listdir(folder)), 3, "files")


@test()
def evaluate_inspect_check_analyze_optimize():
    with temp_folder() as folder:
        output = os.path.join(folder, "q.onnx")
        quarkq.quantize(DIGITS_MODEL, output, config="xint8", data=digits())
        report = quarkq.evaluate(DIGITS_MODEL, output, digits())
        expect(report["min_cosine"] > 0.9, f"min cosine {report['min_cosine']}")
        with open(output, "rb") as file:
            quantized = file.read()
        expect_equal(quarkq.evaluate(onnx.load(DIGITS_MODEL), quantized, digits())["min_cosine"], report["min_cosine"], "from memory")
        expect(quarkq.inspect(quantized)["is_quantized"], "not quantized")
        expect_equal(quarkq.check(quantized)["violations"], [], "violations")
        expect(quarkq.analyze(DIGITS_MODEL, config="xint8", data=digits(), samples=1)["layers"], "no layers")
        quarkq.optimize(DIGITS_MODEL, os.path.join(folder, "o.onnx"), config="xint8", data=os.path.join(DIGITS, "calib"))
        defaults = quarkq.optimize(DIGITS_MODEL, os.path.join(folder, "defaults.onnx"))
        expect(defaults["nodes"]["after"] > 0, "no nodes are left")


def ep_report(model, on_cpu=()):
    """The report of a provider that leaves these operators, the first Q and the last DQ on the CPU."""
    edges, nodes = {value.name for value in [*model.graph.input, *model.graph.output]}, []
    for node in model.graph.node:
        is_edge = node.input[0] in edges and node.op_type == "QuantizeLinear" or node.output[0] in edges
        device = "CPU" if node.op_type in on_cpu else "VITIS_EP_CPU" if is_edge else "NPU"
        nodes.append({"input": list(node.input), "output": list(node.output), "opType": node.op_type, "device": device})
    devices = collections.Counter(node["device"] for node in nodes)
    stat = [{"name": "all", "nodeNum": len(nodes)}] + [{"name": name, "nodeNum": count} for name, count in devices.items()]
    return {"deviceStat": stat, "nodeStat": nodes}


@test()
def check_reads_what_a_compiler_did():
    with temp_folder() as folder:
        output, file, mine = (os.path.join(folder, name) for name in ("q.onnx", "vitisai_ep_report.json", "mine.yaml"))
        quarkq.quantize(DIGITS_MODEL, output, config="xint8", data=digits())
        model = onnx.load(output)
        others = ("QuantizeLinear", "DequantizeLinear", "Constant", "Conv", "Relu")  # Conv and Relu are placed together
        left = [node.op_type for node in model.graph.node if node.op_type not in others][-1]
        with open(file, "w") as report:
            json.dump(ep_report(model, on_cpu=(left,)), report)
        before = quarkq.check(output, "x1", ep_report=file, learn=mine, device="PHX", driver="1", compiler="1.7.1", min_npu=1)
        expect(before["agreement"] < 1 and any("--min-npu" in goal for goal in before["missed_goals"]), before["agreement"])
        with open(output, "rb") as bytes_of_model:
            after = quarkq.check(bytes_of_model.read(), mine, ep_report=[file])
        expect_equal((after["agreement"], after["differences"]), (1, []), "with the facts of the machine")
        with open(file, "w") as report:
            report.write("{")
        error = raised(quarkq.DataError, quarkq.check, output, ep_report=file)
        expect(file in error.message and "end of the file" in error.message, error.message)


@test()
def ort_ops_run_in_onnx_runtime():
    model = quarkq.quantize(DIGITS_MODEL, config="bfp16", data=digits()).model
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(quarkq.ort_ops_library())
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    sample = digits()[0]
    found = session.run(None, {name: sample if sample.ndim == len(session.get_inputs()[0].shape) else sample[None]})[0]
    wanted = list(quarkq.run(model, [sample])[0].values())[0]
    expect(np.allclose(found, wanted, rtol=1e-2, atol=1e-2 * np.abs(wanted).max()), "results differ")


@test()
def arrays_of_every_kind():
    sample = noise(1, 16)[0]
    with temp_folder() as folder:
        model = write_conv_model(folder, side=16)
        wanted = quarkq.run(model, [sample])[0]["y"]
        for given in (np.asfortranarray(sample), sample.astype(">f4"), sample[:, :, ::1], sample[0], sample.tolist()):
            found = quarkq.run(model, [{"x": np.asarray(given, np.float32) if isinstance(given, list) else given}])[0]["y"]
            expect(np.array_equal(found, wanted), "results differ")


@test()
def structures_match_the_header():
    """A structure of another size would make the library refuse the call."""
    expect_equal(quarkq.inspect(conv_model(16).SerializeToString())["nodes"], 3, "nodes")
    expect(quarkq.version().count(".") == 2, quarkq.version())


@test()
def scores_of_models_and_folders():
    labels, inputs = os.path.join(DIGITS, "eval", "labels.csv"), os.path.join(DIGITS, "eval", "inputs")
    with temp_folder() as folder:
        results = os.path.join(folder, "results")
        quarkq.run(DIGITS_MODEL, inputs, results)
        report = quarkq.score(results, metric="top1", labels=labels)
        again = quarkq.score(onnx.load(DIGITS_MODEL), inputs, metric=["top1", "top2"], labels=labels, baseline=DIGITS_MODEL)
        expect_equal(again["metrics"][0]["value"], report["metrics"][0]["value"], "top1")
        expect_equal(again["metrics"][0]["baseline"], report["metrics"][0]["value"], "top1 of the baseline")
        expect(again["metrics"][1]["value"] >= report["metrics"][0]["value"], "top2 is below top1")
        try:
            quarkq.score(results, metric="top1")
        except quarkq.UsageError as error:
            expect("needs labels" in str(error), str(error))
        else:
            raise Failure("no labels, and no error")


def largest_difference(_, expected, found):
    return max(float(abs(expected[name] - found[name]).max()) for name in expected)


@test()
def scores_by_a_function():
    inputs = os.path.join(DIGITS, "eval", "inputs")
    same = quarkq.score(DIGITS_MODEL, inputs, baseline=DIGITS_MODEL, metric=largest_difference)
    expect_equal([(one["name"], one["value"]) for one in same["metrics"]], [("metric", 0.0)], "metrics")
    model = quarkq.quantize(DIGITS_MODEL, config="xint8", data=os.path.join(DIGITS, "calib")).model
    other = quarkq.score(model, inputs, baseline=DIGITS_MODEL, metric=largest_difference)
    expect(other["metrics"][0]["value"] > 0, f"metrics {other['metrics']}")
    for arguments, said in (({}, "compares two sides"), ({"baseline": DIGITS_MODEL, "metric": lambda *_: 1 / 0}, "division by zero")):
        try:
            quarkq.score(model, inputs, **{"metric": largest_difference, **arguments})
        except (quarkq.UsageError, ZeroDivisionError) as error:
            expect(said in str(error), str(error))
        else:
            raise Failure(f"no error: {said}")


@test()
def tunes_by_a_function():
    inputs = os.path.join(DIGITS, "eval", "inputs")
    with temp_folder() as folder:
        arguments = {"config": "xint8", "data": os.path.join(DIGITS, "calib"), "eval_data": inputs, "metric": largest_difference,
                     "lower_is_better": True}
        output = os.path.join(folder, "out.onnx")
        report = quarkq.tune(DIGITS_MODEL, output, goal="value<=1000", **arguments)
        expect(report["met"] and report["metric"] == {"name": "metric", "unit": "", "better": "lower"}, f"report {report}")
        best = quarkq.tune(DIGITS_MODEL, output, settings={"include_fast_ft": False}, **arguments)
        kept = best["trials"][best["best"]]
        better = [trial for trial in best["trials"] if not trial["why_not"] and trial["value"] < kept["value"]]
        expect(kept["accepted"] and kept["value"] <= best["trials"][0]["value"], f"{kept}")
        expect(all(trial["gain"]["high"] >= 0 for trial in better), f"trials that are better beyond noise: {better}")
        expect_equal(sorted(os.listdir(folder)), ["out.onnx", "out.yaml"], "what is left")
        try:
            quarkq.tune(DIGITS_MODEL, output, state=os.path.join(folder, "state"), **arguments)
        except quarkq.UsageError as error:
            expect("state folder" in str(error), str(error))
        else:
            raise Failure("trials of a function were kept")


@test()
def scores_have_intervals():
    inputs, labels = os.path.join(DIGITS, "eval", "inputs"), os.path.join(DIGITS, "eval", "labels.csv")
    wide, narrow = (quarkq.score(DIGITS_MODEL, inputs, metric="top1", labels=labels, limit=100, confidence=level)["metrics"][0] for level in (0.95, 0.5))
    expect(wide["interval"]["low"] < narrow["interval"]["low"] <= narrow["value"] <= narrow["interval"]["high"], f"{wide} {narrow}")
    compared = quarkq.evaluate(DIGITS_MODEL, DIGITS_MODEL, inputs, labels=labels, confidence=0.9)["accuracy"]
    expect(compared["confidence"] == 0.9 and compared["top"][0]["difference"]["mcnemar"] == 1, f"{compared}")
    try:
        quarkq.score(DIGITS_MODEL, inputs, metric="top1", labels=labels, confidence=2)
    except quarkq.UsageError as error:
        expect("--confidence: found 2" in str(error), str(error))
    else:
        raise Failure("a confidence of 2 was taken")


@test()
def tunes_to_a_goal():
    inputs, seen = os.path.join(DIGITS, "eval", "inputs"), []
    with temp_folder() as folder:
        output = os.path.join(folder, "out.onnx")
        arguments = {"config": "xint8", "data": os.path.join(DIGITS, "calib"), "eval_data": inputs, "metric": "cosine"}
        report = quarkq.tune(DIGITS_MODEL, output, goal="value>=0.5", progress=lambda progress: seen.append(progress.phase), **arguments)
        expect(report["met"] and "plain" in seen, f"met {report['met']}, phases {sorted(set(seen))}")
        expect_equal([trial["name"] for trial in report["trials"]], ["plain"], "trials")
        expect_equal(quarkq.quantize(DIGITS_MODEL, config=report["settings"], data=os.path.join(DIGITS, "calib")).model,
                     open(output, "rb").read(), "model of the settings found")
        report = quarkq.tune(DIGITS_MODEL, output, goal="value>=2", seconds=0.01, **arguments)
        expect(not report["met"] and report["timed_out"] and os.path.exists(output), "a missed goal")


def quantized(**arguments):
    return quarkq.quantize(DIGITS_MODEL, **{"config": "xint8", "data": digits(), **arguments})


@test(cases=[
    ("data", "pass data, or set", lambda: quantized(data=None)),
    ("setting", "settings: NoSuchSetting: unknown setting", lambda: quantized(settings={"NoSuchSetting": 1})),
    ("eval_data", "needs eval_data, samples", lambda: quarkq.tune(DIGITS_MODEL, "o.onnx", config="xint8", data=digits(), eval_data=None, metric="cosine")),
    ("sample", "sample 1: the model has no input 'other'", lambda: quarkq.run(DIGITS_MODEL, [{"image": digits()[0]}, {"other": digits()[1]}])),
])
def messages_name_arguments(case):
    _, words, call = case
    message = raised(quarkq.QuarkqError, call).message
    expect("--" not in message and "sample sample" not in message, message)
    expect(words in message, message)


@test()
def text_with_options_names_arguments():
    translated = quarkq._errors.in_python
    for given, wanted in (
            ("quantize with --target, or with --set Int32Bias=false, so that", "quantize with target, or with settings=['Int32Bias=false'], so that"),
            ("The same by settings: --set 'a=[1, 2]' --set 'b=c'", "The same by settings: settings=['a=[1, 2]', 'b=c']"),
            ("fix it with --shape INPUT=1,3,224,224 (or --labels FILE)", "fix it with shapes (or labels)"),
            ("quarkq check --target NAME MODEL lists them", "quarkq check --target NAME MODEL lists them"),
            ("--metric-cmd COMMAND, --no-verify", "--metric-cmd COMMAND, --no-verify")):
        expect_equal(translated(given), wanted, given)


@test()
def reports_print_a_summary():
    report = quantized()
    lines = {line.split()[0]: line for line in str(report).splitlines()}
    expect(set(lines) >= {"model", "settings", "calibrated", "quantized", "output", "written", "verdict"}, f"found {str(report)}")
    expect(report.grade in lines["verdict"] and "Report.model" in lines["written"], str(report))
    page = report._repr_html_()
    expect(page.startswith("<table>") and report.grade in page, page)
    expect("nodes" in str(quarkq.inspect(DIGITS_MODEL)).split(), "inspect")
    with temp_folder() as folder:
        page, copy = os.path.join(folder, "x.html"), os.path.join(folder, "x.json")
        report.save(page)
        report.save(copy)
        with open(page, encoding="utf-8") as file:
            expect("<html" in file.read(), "a page")
        with open(copy, encoding="utf-8") as file:
            expect_equal(file.read(), report.to_json(), "the JSON")
        raised(quarkq.DataError, quarkq.inspect(DIGITS_MODEL).save, page)


@test()
def samples_in_memory_tune_and_optimize_as_folders_do():
    inputs = os.path.join(DIGITS, "eval", "inputs")
    with temp_folder() as folder:
        output = os.path.join(folder, "out.onnx")
        arguments = {"config": "xint8", "metric": "cosine", "goal": "value>=0.5"}
        wanted = quarkq.tune(DIGITS_MODEL, output, data=os.path.join(DIGITS, "calib"), eval_data=inputs, **arguments)
        doubled = (sample * 2 for sample in digits())
        held_out = [sample * 2 for sample in load_folder(inputs)]
        found = quarkq.tune(DIGITS_MODEL, output, data=doubled, eval_data=held_out, preprocess=lambda sample: {"image": sample / 2}, **arguments)
        expect_equal([trial["value"] for trial in found["trials"]], [trial["value"] for trial in wanted["trials"]], "values")
        raised(quarkq.DataError, quarkq.tune, DIGITS_MODEL, output, data=[], eval_data=inputs, **arguments)
        quarkq.optimize(DIGITS_MODEL, output, config="xint8", data=digits())
