# SPDX-License-Identifier: MIT
"""The rescue: a result that collapsed is planned again with the least remedies of its target, and reports them."""
import json
import os
import re

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import QUARKQ, ROOT, expect, expect_equal, on_terminal, quarkq, run, shared, temp_folder, test
from reference import mean_cosines, onnxruntime_results
from schema import misfits

CHANNELS = 8


def initializer(name, values):
    return numpy_helper.from_array(np.asarray(values, np.float32), name)


def model_of(nodes, weights):
    shape = [1, CHANNELS, 8, 8]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)], weights)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def unequal_weights():
    """A depthwise Conv, one channel of which has weights 10,000 times as large as the others and tiny inputs."""
    random = np.random.default_rng(1)
    first = random.normal(size=(CHANNELS, 1, 3, 3))
    first[0] *= 1e4
    nodes = [helper.make_node("Conv", ["x", "w0"], ["a"], "first", group=CHANNELS, pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["a"], ["b"], "relu"), helper.make_node("Conv", ["b", "w1"], ["y"], "second")]
    return model_of(nodes, [initializer("w0", first), initializer("w1", random.normal(size=(CHANNELS, CHANNELS, 1, 1)))])


def massive_activation():
    """One channel of an activation is 1,000 times as large as the others, which alone are read after it."""
    random = np.random.default_rng(2)
    factors = np.ones((1, CHANNELS, 1, 1))
    factors[0, 0] = 1e3
    last = random.normal(size=(CHANNELS, CHANNELS, 1, 1))
    last[:, 0] = 0
    nodes = [helper.make_node("Conv", ["x", "w0"], ["a"], "first", pads=[1, 1, 1, 1]), helper.make_node("Mul", ["a", "f"], ["b"], "massive"),
             helper.make_node("Add", ["b", "a"], ["c"], "residual"), helper.make_node("Conv", ["c", "w1"], ["y"], "second")]
    return model_of(nodes, [initializer("w0", random.normal(size=(CHANNELS, CHANNELS, 3, 3))), initializer("f", factors),
                            initializer("w1", last)])


def two_massive_activations():
    """Two places as in massive_activation(), with plain layers between them."""
    random = np.random.default_rng(7)
    factors = np.ones((1, CHANNELS, 1, 1))
    factors[0, 0] = 1e3
    nodes, weights, value = [], [initializer("f", factors)], "x"
    for place in range(2):
        for layer in range(4):
            kernel = random.normal(size=(CHANNELS, CHANNELS, 3, 3)) / 8
            kernel[:, 0] *= 0 if layer == 0 else 1  # which reads the massive channel
            weights.append(initializer(f"w{place}{layer}", kernel))
            nodes.append(helper.make_node("Conv", [value, f"w{place}{layer}"], [f"a{place}{layer}"], f"conv{place}{layer}", pads=[1, 1, 1, 1]))
            value = f"a{place}{layer}"
        nodes += [helper.make_node("Mul", [value, "f"], [f"b{place}"], f"massive{place}"),
                  helper.make_node("Add", [f"b{place}", value], [f"c{place}"], f"residual{place}")]
        value = f"c{place}"
    last = random.normal(size=(CHANNELS, CHANNELS, 1, 1))
    last[:, 0] = 0
    nodes.append(helper.make_node("Conv", [value, "last"], ["y"], "last"))
    return model_of(nodes, weights + [initializer("last", last)])


def clipped_channels():
    """Layers with Clip(0, 6) between them whose channels have very unequal ranges, as folded BatchNormalization leaves them. No channel reaches 6."""
    random = np.random.default_rng(4)
    ranges = np.logspace(-3, 0, CHANNELS)[random.permutation(CHANNELS)]
    weights = [random.normal(size=(CHANNELS, CHANNELS, 1, 1)) * ranges[:, None, None, None] / 8,
               random.normal(size=(CHANNELS, 1, 3, 3)) / 8 / ranges[:, None, None, None] * ranges[::-1, None, None, None],
               random.normal(size=(CHANNELS, CHANNELS, 1, 1)) / ranges[::-1][None, :, None, None]]
    nodes = [helper.make_node("Conv", ["x", "w0"], ["a"], "expand", group=1), helper.make_node("Clip", ["a", "low", "high"], ["b"], "clip0"),
             helper.make_node("Conv", ["b", "w1"], ["c"], "depthwise", group=CHANNELS, pads=[1, 1, 1, 1]),
             helper.make_node("Clip", ["c", "low", "high"], ["d"], "clip1"), helper.make_node("Conv", ["d", "w2"], ["y"], "project", group=1)]
    return model_of(nodes, [initializer(f"w{i}", values) for i, values in enumerate(weights)] + [initializer("low", 0), initializer("high", 6)])


def errors_that_add_up():
    """Products over many inputs of one sign whose weights are less than half a step, because an input that is always 0 has a large one."""
    random = np.random.default_rng(5)
    width = 64
    first, bias = random.normal(size=(width, CHANNELS, 1, 1)), np.zeros(width)
    bias[0] = -40
    second = random.uniform(-0.004, 0.012, size=(CHANNELS, width, 3, 3))
    second[:, 0] = 4
    nodes = [helper.make_node("Conv", ["x", "w0", "b0"], ["a"], "first"), helper.make_node("Sigmoid", ["a"], ["b"], "sigmoid"),
             helper.make_node("Conv", ["b", "w1"], ["y"], "second", pads=[1, 1, 1, 1])]
    return model_of(nodes, [initializer("w0", first), initializer("b0", bias), initializer("w1", second)])


def samples(folder):
    random = np.random.default_rng(3)
    os.makedirs(folder)
    for number in range(8):
        values = random.normal(size=(1, CHANNELS, 8, 8)).astype(np.float32)
        values[0, 0] *= 1e-4
        np.save(os.path.join(folder, f"{number}.npy"), values)
    return folder


class Bench:
    def __init__(self, folder, model):
        self.folder, self.model, self.calib = folder, os.path.join(folder, "m.onnx"), samples(os.path.join(folder, "calib"))
        onnx.save(model, self.model)

    def path(self, name):
        return os.path.join(self.folder, name)

    def quantize(self, config, output, *more):
        """The result of the run, and its report when it succeeded."""
        report = self.path("report.json")
        # Without metadata: runs that ask for something else to get the same model are compared.
        result = run("quantize", self.model, "--config", config, "--calib", self.calib, "-o", self.path(output), "--report", report, "--set",
                     "quarkq.metadata=false", *([] if "--target" in more else ["--target", "none"]), *more)
        if result.returncode != 0:
            return result, None
        with open(report, encoding="utf-8") as file:
            return result, json.load(file)

    def cosine(self, output):
        return min(mean_cosines(onnxruntime_results(self.path(output), self.calib), onnxruntime_results(self.model, self.calib)).values())


def ids(report):
    return [finding["id"] for finding in report["findings"]]


CASES = [("weights in A8W8", unequal_weights, "a8w8", "channel_scales"), ("activations in A8W8", massive_activation, "a8w8", "tensors_in_16_bits"),
         ("activations in XINT8", massive_activation, "xint8", "float_nodes"), ("channels before a Clip", clipped_channels, "xint8", "float_changes"),
         ("rounding in A8W8", errors_that_add_up, "a8w8", "rounding")]


@test(cases=CASES)
def collapsed_result_is_rescued(case):
    _, model, config, remedy = case
    with temp_folder() as folder:
        bench = Bench(folder, model())
        _, plain = bench.quantize(config, "plain.onnx", "--on-collapse", "warn")
        before = bench.cosine("plain.onnx")
        expect(before < 0.9, f"cosine {before} without the rescue: nothing to rescue")
        expect("output-collapsed" in ids(plain) and plain["rescue"] is None, "the plain run does not warn, or was rescued")
        result, report = bench.quantize(config, "rescued.onnx")
        after = bench.cosine("rescued.onnx")
        expect(after > 0.97, f"cosine {after} after the rescue, {before} before")
        expect(report["rescue"] and report["rescue"][remedy], f"the remedy is {report['rescue']}, {remedy} expected")
        expect("rescued" in ids(report) and "output-collapsed" not in ids(report), f"findings are {ids(report)}")
        expect("rescued    cosine" in result.stdout, f"the summary is {result.stdout}")
        if config == "xint8":
            expect(report["rescue"]["float_macs"] <= 0.2, f"{report['rescue']['float_macs']} of the multiply-accumulates are float")
    return f"cosine {before:.3f} becomes {after:.3f}"


@test(cases=["a8w8", "xint8"])
def wider_formats_keep_to_limits(config):
    share = "macs_in_16_bits" if config == "a8w8" else "float_macs"
    order = [node.name for node in two_massive_activations().graph.node]
    with temp_folder() as folder:
        bench = Bench(folder, two_massive_activations())
        _, free = bench.quantize(config, "free.onnx", "--max-wide", "100%")
        expect(free["rescue"]["islands"] >= 2, f"without a limit the rescue is {free['rescue']}")
        _, one = bench.quantize(config, "one.onnx", "--max-wide", "100%", "--max-islands", "1")
        expect_equal(one["rescue"]["islands"], 1, "islands")
        expect(one["rescue"]["after"]["cosine"] > 0.9, f"the rescue is {one['rescue']}")
        if config == "xint8":  # the network is a chain but for the residuals: its island is a stretch of it
            places = sorted(order.index(name) for name in one["rescue"]["float_nodes"])
            expect_equal(places, list(range(places[0], places[-1] + 1)), "places of the float nodes")
        _, little = bench.quantize(config, "little.onnx", "--max-wide", "0.15")
        expect(little["rescue"] is None or little["rescue"][share] <= 0.15, f"the rescue is {little['rescue']}")
        _, none = bench.quantize(config, "none.onnx", "--max-wide", "0.0001", "--max-islands", "1")
        expect(none["rescue"] is None or none["rescue"][share] == 0, f"the rescue is {none['rescue']}")
    return f"{share} {free['rescue'][share]:.2f} in {free['rescue']['islands']} islands, {one['rescue'][share]:.2f} in one"


@test(cases=[("a8w8", 0.995), ("xint8", 0.999)])  # 8-bit weights are the limit of A8W8
def a_higher_cosine_widens_more(case):
    config, least = case
    with temp_folder() as folder:
        bench = Bench(folder, two_massive_activations())
        _, usual = bench.quantize(config, "usual.onnx", "--max-wide", "100%")
        _, more = bench.quantize(config, "more.onnx", "--max-wide", "100%", "--set", "quarkq.min_cosine=0.9995")
        before, after = bench.cosine("usual.onnx"), bench.cosine("more.onnx")
        wide = [len(one["rescue"]["tensors_in_16_bits"]) + len(one["rescue"]["float_nodes"]) for one in (usual, more)]
        expect(wide[1] > wide[0] or more["rescue"]["float_changes"] != usual["rescue"]["float_changes"], f"{wide} are wider")
        expect(after > before and after >= least, f"cosine {before} and {after}, {least} expected")
    return f"cosine {before:.4f} with {wide[0]} wider, {after:.4f} with {wide[1]}"


@test()
def mixed_precision_keeps_to_limits():
    mix = ["--set", "include_auto_mp=true", "--set", 'AutoMixprecision={TargetLayerConfig: {input_tensors: Int16Spec, output_tensors: Int16Spec}, '
           'IncludeLayers: [conv00, conv02]}']
    with temp_folder() as folder:
        bench = Bench(folder, two_massive_activations())

        def wide(name, *more):
            _, report = bench.quantize("a8w8", name, *mix, *more)
            return report["tensors"].get("activation INT16", 0), next(one["text"] for one in report["findings"] if one["id"] == "mixed-precision")
        apart, text = wide("apart.onnx")
        expect_equal((apart, text), (4, "promoted 2 of 2 candidate nodes"), "what is promoted without a limit")
        joined, text = wide("joined.onnx", "--max-islands", "1")
        expect_equal((joined, text), (4, "promoted 2 of 2 candidate nodes"), "their tensors hold the Conv between already")
        less, text = wide("less.onnx", "--max-islands", "1", "--max-wide", "20%")
        expect_equal((less, text), (2, "promoted 1 of 2 candidate nodes; 1 would pass quarkq.max_islands or quarkq.max_wide"), "what a share allows")


@test(cases=["--max-wide=101%", "--max-wide=x", "--max-wide=-1", "--max-islands=0", "--max-islands=two"])
def limits_of_wider_formats_are_checked(option):
    with temp_folder() as folder:
        result, _ = Bench(folder, unequal_weights()).quantize("a8w8", "q.onnx", option)
        expect_equal(result.returncode, 2, "exit code")
        expect(option.split("=")[0] in result.stderr and option.split("=")[1] in result.stderr, f"the message is {result.stderr}")


@test(cases=CASES)
def settings_of_a_rescue_give_the_same(case):
    _, model, config, _ = case
    with temp_folder() as folder:
        bench = Bench(folder, model())
        _, report = bench.quantize(config, "rescued.onnx")
        more = [word for setting in report["rescue"]["settings"] for word in ("--set", setting)]
        _, again = bench.quantize(config, "again.onnx", "--on-collapse", "warn", *more)
        expect(again["rescue"] is None, "the second run was rescued itself")
        with open(bench.path("rescued.onnx"), "rb") as first, open(bench.path("again.onnx"), "rb") as second:
            expect(first.read() == second.read(), "the settings that the report names give another model")
        with open(os.path.join(ROOT, "docs", "schemas", "quantize.schema.json"), encoding="utf-8") as file:
            expect_equal(misfits(report, json.load(file)), [], "places that do not fit the schema")


@test(cases=[("activations in A8W8", massive_activation, "a8w8"), ("activations in XINT8", massive_activation, "xint8")])
def names_of_a_rescue_are_a_settings_file(case):
    """The file gives the same model, also under the same name, and is never written over an input."""
    _, model, config = case
    with temp_folder() as folder:
        bench = Bench(folder, model())
        path = bench.path("rescued.rescued.yaml")
        result, report = bench.quantize(config, "rescued.onnx")
        expect_equal(report["rescue"]["settings_path"], path, "name of the settings file")
        said = [finding["text"] for finding in report["findings"] if finding["id"] == "rescued"][0]
        expect(f"--config {path};" in said and "TensorQuantOverrides" not in said and "nodes_to_exclude" not in said, f"the notice is {said}")
        expect(path in " ".join(result.stdout.split()).replace(" ", ""), f"the summary is {result.stdout}")
        with open(bench.path("rescued.onnx"), "rb") as file:
            first = file.read()
        _, again = bench.quantize(path, "rescued.onnx")
        expect(again["rescue"] is None, "the second run was rescued itself")
        with open(bench.path("rescued.onnx"), "rb") as file:
            expect(file.read() == first, "the settings file gives another model")
        with open(path, "rb") as file:
            kept = file.read()
        os.rename(path, bench.path("plain.rescued.yaml"))
        with open(bench.path("plain.rescued.yaml"), "w", encoding="utf-8") as file:
            file.write(f"preset: {config.upper()}\n")
        result, report = bench.quantize(bench.path("plain.rescued.yaml"), "plain.onnx")
        expect(report["rescue"] and report["rescue"]["settings_path"] is None, f"rescue {report['rescue']}")
        expect(len(kept) > 0 and os.path.getsize(bench.path("plain.rescued.yaml")) < 30, "an input was overwritten")


@test(cases=[("other formats", massive_activation, "xint8"), ("another float model", clipped_channels, "xint8"), ("before fine-tuning", massive_activation, "a8w8_adaround")])
def trials_are_counted_in_one_phase(case):
    _, model, config = case
    with temp_folder() as folder:
        bench = Bench(folder, model())
        _, text = on_terminal([QUARKQ, "quantize", bench.model, "--config", config, "--calib", bench.calib, "-o", bench.path("q.onnx"),
                               *(["--set", "FastFinetune.NumIterations=5"] if config.endswith("adaround") else [])], 100)
    counts = [(int(done), int(most)) for done, most in re.findall(r"rescue: trial (\d+) of at most (\d+)", text)]
    expect(counts and counts == sorted(counts) and all(done <= most for done, most in counts), f"the trials are {counts} in {text[-500:]!r}")
    begin, end = text.index("rescue: trial"), text.rindex("rescue: trial")
    expect(not re.search(r"\(\d+ of \d+\)", text[begin:end]), f"other phases in between: {text[begin:end]!r}")


@test(cases=["warn", "guards=off", "compat"])
def rescue_is_left_out(how):
    more = {"warn": ["--on-collapse", "warn"], "guards=off": ["--set", "guards=off"], "compat": ["--compat", "quark-0.13"]}[how]
    with temp_folder() as folder:
        _, report = Bench(folder, unequal_weights()).quantize("a8w8", "q.onnx", *more)
        expect(report["rescue"] is None, f"rescued: {report['rescue']}")
        expect("output-collapsed" in ids(report), "the collapse is not said")


@test(cases=[("channels before a Clip", clipped_channels, "xint8_adaround", "float_changes"),
             ("activations in A8W8", massive_activation, "a8w8_adaround", "tensors_in_16_bits")])
def fine_tuning_starts_from_remedies(case):
    """Learned rounding cannot bring back what a format lost, so the plan is remedied before it, rounding apart."""
    _, model, config, remedy = case
    with temp_folder() as folder:
        bench = Bench(folder, model())
        few_steps = ["--set", "FastFinetune.NumIterations=50"]
        bench.quantize(config, "plain.onnx", "--on-collapse", "warn", *few_steps)
        before = bench.cosine("plain.onnx")
        expect(before < 0.9, f"cosine {before} without remedies: nothing to rescue")
        _, report = bench.quantize(config, "tuned.onnx", *few_steps)
        rescue, after = report["rescue"], bench.cosine("tuned.onnx")
        expect(after > 0.97, f"cosine {after} after remedies and fine-tuning, {before} before")
        expect(rescue and rescue[remedy] and not rescue["rounding"], f"the remedy is {rescue}, {remedy} without rounding expected")
        expect(report["tuned_layers"], "no layer was fine-tuned")
        settings = [word for setting in rescue["settings"] for word in ("--set", setting)]
        bench.quantize(config, "again.onnx", "--on-collapse", "warn", *few_steps, *settings)
        with open(bench.path("tuned.onnx"), "rb") as one, open(bench.path("again.onnx"), "rb") as other:
            expect(one.read() == other.read(), "the settings of the rescue give another model")


@test(cases=["quarkq.rounding=nearest", "quarkq.equalize_clipped=false"])
def what_settings_name_is_left_as_it_is(setting):
    """The rescue looks for something else."""
    model = errors_that_add_up if "rounding" in setting else clipped_channels
    with temp_folder() as folder:
        _, report = Bench(folder, model()).quantize("a8w8", "q.onnx", "--set", setting)
        rescue = report["rescue"] or {"rounding": "", "float_changes": []}
        expect(rescue["rounding"] == "" or "rounding" not in setting, f"the rescue is {rescue}")
        expect("quarkq.equalize_clipped=true" not in rescue["float_changes"] or "equalize" not in setting, f"the rescue is {rescue}")


@test()
def scores_beside_boxes_are_judged_by_themselves():
    """An output of large values hides from a cosine what becomes of the small ones beside them."""
    random = np.random.default_rng(6)
    large, small = random.uniform(100, 500, size=(4, CHANNELS, 1, 1)), random.normal(size=(4, CHANNELS, 1, 1)) * 0.01
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], "head")]
    with temp_folder() as folder:
        bench = Bench(folder, model_of(nodes, [initializer("w", np.concatenate([large, small]))]))
        _, report = bench.quantize("a8w8", "q.onnx", "--on-collapse", "warn")
        output = report["outputs"][0]
        expect(output["cosine"] > 0.99, f"cosine {output['cosine']}")
        expect(output["minor"]["cosine"] < 0.9, f"of the small channels {output['minor']}")
        expect(report["verdict"]["grade"] == "poor", f"the verdict is {report['verdict']}")


@test()
def collapse_may_fail_the_run():
    with temp_folder() as folder:
        bench = Bench(folder, unequal_weights())
        result, _ = bench.quantize("a8w8", "q.onnx", "--on-collapse", "fail")
        expect_equal(result.returncode, 5, f"exit code ({result.stderr[-300:]})")
        expect("on_collapse: fail" in result.stderr, f"the message is {result.stderr}")
        expect(not os.path.exists(bench.path("q.onnx")), "a collapsed result was written")


@test()
def requirement_is_judged_after_the_rescue():
    with temp_folder() as folder:
        result, report = Bench(folder, unequal_weights()).quantize("a8w8", "q.onnx", "--require", "cos>=0.95")
        expect_equal(result.returncode, 0, f"exit code ({result.stderr[-300:]})")
        expect(report["rescue"] is not None, "met without a rescue")


@test()
def weights_that_carry_the_loss_are_rounded_before_activations_are_widened():
    """16 bits alone gain nothing here (cosine 0.35), better rounding alone 0.85: both together 0.98, with scales per channel 0.995."""
    inputs = shared("golden", "inputs", "mlsd_tiny_320", "calib")
    with temp_folder() as folder:
        report = os.path.join(folder, "r.json")
        run("quantize", shared("models", "mlsd_tiny_320.onnx"), "--config", "a8w8", "--target", "x2", "--calib", inputs, "-o",
            os.path.join(folder, "q.onnx"), "--json=" + report, "--quiet")
        with open(report, encoding="utf-8") as file:
            rescue = json.load(file)["rescue"]
    expect(rescue["rounding"] and rescue["tensors_in_16_bits"] and not rescue["float_nodes"], f"the rescue is {rescue}")
    expect(rescue["after"]["cosine"] > 0.97, f"cosine {rescue['after']['cosine']}")
    return f"cosine {rescue['before']['cosine']:.3f} becomes {rescue['after']['cosine']:.3f}"


@test()
def few_nodes_get_16_bits_first():
    """20 % of the multiply-accumulates are enough for the places of the massive activations; the compiler takes them as parts of one model."""
    with temp_folder() as folder:
        bench = Bench(folder, two_massive_activations())
        _, report = bench.quantize("a8w8", "q.onnx")
        rescue = report["rescue"]
        expect(rescue and 0 < rescue["macs_in_16_bits"] <= 0.2, f"the rescue is {rescue}")
        expect(bench.cosine("q.onnx") > 0.97, f"cosine {bench.cosine('q.onnx')}")
        _, none = bench.quantize("a8w8", "n.onnx", "--max-wide", "0")
        expect(not none["rescue"] or none["rescue"]["macs_in_16_bits"] == 0, f"--max-wide 0: {none['rescue']}")
    return f"{100 * rescue['macs_in_16_bits']:.0f} % of MACs, cosine {rescue['after']['cosine']:.4f}"


SEARCHED = "calibrate_method=ExtendedCalibrationMethod.MinMSE"


@test()
def ranges_are_searched_before_formats_change():
    """Ranges from the smallest to the largest value lose what the largest values take of the steps. The settings of the report give the same model."""
    with temp_folder() as folder:
        def made(name, *more):
            quarkq("quantize", shared("models", "nanodet_m_416.onnx"), "--config", "a8w8", "--calib", shared("golden", "inputs", "nanodet_m_416", "calib"), "-o",
                   os.path.join(folder, name), "--report", os.path.join(folder, "r.json"), "--set", "quarkq.metadata=false", *more)
            with open(os.path.join(folder, "r.json"), encoding="utf-8") as file:
                report = json.load(file)
            with open(os.path.join(folder, name), "rb") as file:
                return file.read(), report["rescue"], min(output["cosine"] for output in report["outputs"])
        _, none, before = made("plain.onnx", "--on-collapse", "warn")
        rescued, rescue, after = made("q.onnx")
        expect(none is None and SEARCHED in rescue["float_changes"] and rescue["macs_in_16_bits"] <= 0.2, f"the rescue is {rescue}")
        expect(after > 0.98 > 0.97 > before, f"cosine {before} became {after}")
        same, _, _ = made("same.onnx", *(part for setting in rescue["settings"] for part in ("--set", setting)), "--on-collapse", "warn")
        expect(same == rescued, "the settings of the report give another model")
        _, kept, _ = made("kept.onnx", "--set", "calibrate_method=CalibrationMethod.MinMax")
        expect(kept is None or SEARCHED not in kept["float_changes"], "the method that settings name was replaced")
    return f"cosine {before:.4f} becomes {after:.4f}"


@test()
def good_results_are_left_alone():
    """The same weights without the large channel: nothing is changed, and the bytes are those of a run that only warns."""
    with temp_folder() as folder:
        model = unequal_weights()
        weights = numpy_helper.to_array(model.graph.initializer[0]).copy()
        weights[0] /= 1e4
        model.graph.initializer[0].CopyFrom(initializer("w0", weights))
        bench = Bench(folder, model)
        _, report = bench.quantize("a8w8", "q.onnx")
        expect(report["rescue"] is None, f"rescued: {report['rescue']}")
        bench.quantize("a8w8", "warn.onnx", "--on-collapse", "warn")
        with open(bench.path("q.onnx"), "rb") as first, open(bench.path("warn.onnx"), "rb") as second:
            expect(first.read() == second.read(), "--on-collapse changes a good result")


@test()
def unknown_choice_is_refused():
    with temp_folder() as folder:
        bench = Bench(folder, unequal_weights())
        result, _ = bench.quantize("a8w8", "q.onnx", "--set", "quarkq.on_collapse=maybe")
        expect_equal(result.returncode, 2, "exit code")
        expect("rescue" in result.stderr and "warn" in result.stderr, f"the message is {result.stderr}")
