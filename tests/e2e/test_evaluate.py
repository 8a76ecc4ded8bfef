# SPDX-License-Identifier: MIT
"""quarkq evaluate: folders, models, labels, gates; quarkq inspect against its goldens."""
import contextlib
import csv
import json
import os
import re
import shutil
import subprocess

import numpy as np
import onnx
from onnx import helper

import harness
from harness import expect, expect_equal, expect_error, quantize, quarkq, run, run_model, shared, temp_folder, test
from reference import DIGITS, conv_model, make_model, onnxruntime_results, save_samples, weights

MODEL = os.path.join(DIGITS, "digits.onnx")
CALIB = os.path.join(DIGITS, "calib")
EVAL = os.path.join(DIGITS, "eval", "inputs")
LABELS = os.path.join(DIGITS, "eval", "labels.csv")
GOLDEN = os.path.join(harness.ROOT, "tests", "golden", "inspect")
EIGHT = ["Mean cos similarity", "Min cos similarity", "Mean l2 distance", "Max l2 distance", "Mean psnr", "Min psnr", "Mean ssim", "Min ssim"]


def in_folder(folder, name, content):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if isinstance(content, np.ndarray):
        np.save(path, content)
    else:
        with open(path, "wb") as file:
            file.write(content)
    return path


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@test()
def folders_in_text_json_and_csv():
    random = np.random.default_rng(3)
    with temp_folder() as folder:
        a, b, out = (os.path.join(folder, name) for name in ("a", "b", "out.json"))
        arrays = {"x.npy": random.normal(size=(2, 3, 8, 8)), "deep/y.npy": random.integers(0, 256, (20, 30, 3)).astype(np.uint8)}
        steps = {"x.npy": 0.125, "deep/y.npy": 4}
        for name, values in arrays.items():
            in_folder(a, name, values)
            in_folder(b, name, (values // steps[name] * steps[name]).astype(values.dtype))
        in_folder(b, "extra.npy", arrays["x.npy"])
        result = quarkq("evaluate", a, b, "--json", out, "--csv", out + ".csv", "--details")
        report, rows = read_json(out), read_csv(out + ".csv")
    lines = result.stdout.splitlines()
    expect_equal([line.split(": ")[0] for line in lines[:8]], EIGHT, "the first eight lines")
    expect(lines[8].startswith("95 % intervals of the means: cos "), lines[8])
    expect_equal(lines[10].split(), ["File", "cos", "l2", "psnr", "ssim"], "header of --details")
    expect_equal([line.split()[0] for line in lines[11:]], list(arrays), "files of --details")
    expect_equal(len({len(line) for line in lines[10:]}), 1, "lengths of the table's lines")
    expect("extra.npy" in result.stderr, f"no warning of the extra file: {result.stderr!r}")
    for (name, values), pair, row in zip(arrays.items(), report["pairs"], rows):
        distance = float(np.linalg.norm((values % steps[name]).astype(np.float64)))
        expect(abs(pair["l2"] - distance) < 1e-9 * distance, f"{name}: l2 {pair['l2']}, numpy has {distance}")
        expect_equal({key: float(row[key]) for key in row if key != "file"}, {key: pair[key] for key in row if key != "file"},
                     "CSV against JSON")


@test()
def photos():
    """Photos against themselves are equal; of another size they are refused by name."""
    source = shared("data", "calib")
    with temp_folder() as folder:
        for i, name in enumerate(sorted(os.listdir(source))[:4]):
            for side in "ab":
                shutil.copy(os.path.join(source, name), in_folder(folder, f"{side}/{i}.jpg", b""))
        lines = quarkq("evaluate", os.path.join(folder, "a"), os.path.join(folder, "b")).stdout.splitlines()
        shutil.copy(os.path.join(shared("data"), "text_0.jpg"), os.path.join(folder, "b/2.jpg"))
        refused = run("evaluate", os.path.join(folder, "a"), os.path.join(folder, "b"))
    expect_equal([lines[i].split(": ")[1] for i in (1, 3, 7)], ["1.0", "0.0", "1.0"], "cosine, l2, ssim of equal photos")
    expect_equal((refused.returncode, refused.stdout), (4, ""), "photos of different sizes")
    expect("b/2.jpg: shape [325,500,3]" in refused.stderr, refused.stderr)


@test()
def worst_first():
    with temp_folder() as folder:
        for name, noise in (("good", 0.01), ("bad", 1), ("middle", 0.1)):
            values = np.random.default_rng(1).normal(size=50)
            in_folder(folder, f"a/{name}.npy", values)
            in_folder(folder, f"b/{name}.npy", values + noise * np.random.default_rng(2).normal(size=50))
        lines = quarkq("evaluate", os.path.join(folder, "a"), os.path.join(folder, "b"), "--worst-first").stdout.splitlines()
    expect_equal([line.split()[0] for line in lines[11:]], ["bad.npy", "middle.npy", "good.npy"], "order")


@test()
def problems_are_all_named_and_nothing_is_printed():
    with temp_folder() as folder:
        values = np.ones((2, 3), np.float32)
        for name in ("fine", "gone", "shape", "broken"):
            in_folder(folder, f"a/{name}.npy", values)
        in_folder(folder, "b/fine.npy", values)
        in_folder(folder, "b/shape.npy", values.T)
        in_folder(folder, "b/broken.npy", b"no array")
        result = run("evaluate", os.path.join(folder, "a"), os.path.join(folder, "b"), "--json", os.path.join(folder, "out.json"))
        expect(not os.path.exists(os.path.join(folder, "out.json")), "a JSON report was written")
    expect_equal((result.returncode, result.stdout), (4, ""), "exit code and stdout")
    for name in ("gone.npy", "shape.npy", "broken.npy"):
        expect(f"b/{name}: " in result.stderr, f"{name} is not named: {result.stderr!r}")


@test()
def messages_quote_little_of_a_bad_truth():
    """One line without control characters, from whatever file."""
    with temp_folder() as folder:
        for i in range(3):
            in_folder(folder, f"a/{i}.npy", np.ones((2, 3), np.float32))
            in_folder(folder, f"b/{i}.npy", np.ones((2, 3), np.float32))
        a, b = os.path.join(folder, "a"), os.path.join(folder, "b")
        labels = in_folder(folder, "labels.txt", b"0\n1\n2\n")
        shape = run("evaluate", a, b, "--labels", labels)
        expect_error(shape, 4, "3 of 3 pairs cannot be compared: ", "0.npy: shape [2,3] does not contain class scores for 1 label; ")
        expect("\\x0a" not in shape.stderr, shape.stderr)
        binary = in_folder(folder, "truth.npy", np.arange(500, dtype=np.float32))
        for metric in ("spearman", "recall1", "cer"):
            expect_error(run("evaluate", a, "--metric", metric, "--labels", binary, "--alphabet", labels), 4, "truth.npy: is a binary file, needed is a text file")
        os.rename(binary, os.path.join(folder, "labels.bin"))
        expect_error(run("evaluate", a, b, "--labels", os.path.join(folder, "labels.bin")), 4, "labels.bin: is a binary file, needed is a text file")
        latin = run("evaluate", a, b, "--labels", in_folder(folder, "latin.txt", b"\xe9\x07" * 300 + b"\n0\n"))
        expect_error(latin, 4, 'latin.txt:1: found "\\xe9\\x07', '...", allowed is an integer label')
        expect(len(latin.stderr) < 300, latin.stderr)


def digits_pair(folder, config="xint8"):
    model = os.path.join(folder, "digits_q.onnx")
    quantize(MODEL, model, CALIB, config)
    return model


@test()
def models_agree_with_onnxruntime():
    """What evaluate computes of two models is what NumPy computes of ONNX Runtime's outputs."""
    with temp_folder() as folder:
        model, out = digits_pair(folder, "a8w8"), os.path.join(folder, "out.json")
        quarkq("evaluate", "--float", MODEL, "--quantized", model, "--data", EVAL, "--limit", 40, "--json", out)
        report = read_json(out)
        before, after = (onnxruntime_results(path, EVAL, optimize=False) for path in (MODEL, model))
    files = sorted(before)[:40]
    a, b = (np.concatenate([results[file]["logits"].ravel() for file in files]).astype(np.float64) for results in (before, after))
    expect_equal([pair["file"] + ".npy" for pair in report["pairs"]], files, "samples")
    wanted = {"cosine": a @ b / np.linalg.norm(a) / np.linalg.norm(b), "l2": np.linalg.norm(a - b), "max_abs": abs(a - b).max(),
              "sqnr_db": 10 * np.log10((a @ a) / ((a - b) @ (a - b)))}
    found = report["outputs"][0]
    expect_equal((found["name"], found["samples"]), ("logits", 40), "output")
    for key, value in wanted.items():
        expect(abs(found[key] - value) <= 0.02 * abs(value), f"{key}: found {found[key]}, ONNX Runtime's outputs have {value}")


@test()
def models_and_folders_agree():
    """Two models over samples give what evaluate says of their results in folders."""
    with temp_folder() as folder:
        model = digits_pair(folder)
        floats, results = (os.path.join(folder, name) for name in ("f", "q"))
        run_model(MODEL, EVAL, floats)
        run_model(model, EVAL, results)
        by_folder = quarkq("evaluate", floats, results, "--labels", LABELS).stdout.splitlines()
        by_model = quarkq("evaluate", "--float", MODEL, "--quantized", model, "--data", EVAL, "--labels", LABELS).stdout.splitlines()
    expect_equal(by_model[:len(by_folder)], by_folder, "lines")
    expect(any(line.startswith("Top-1 quantized: ") for line in by_folder), "no accuracy")


@test()
def accuracy_is_that_of_the_example():
    with temp_folder() as folder:
        model, out = digits_pair(folder), os.path.join(folder, "out.json")
        arguments = ["evaluate", "--float", MODEL, model, "--data", EVAL, "--labels", LABELS]
        quarkq(*arguments, "--json", out, "--min-top1", 0.9)
        accuracy = read_json(out)["accuracy"]
        missed = run(*arguments, "--min-top1", 1)
        results = onnxruntime_results(MODEL, EVAL)
    with open(LABELS, encoding="ascii") as file:
        right = [int(results[row["file"]]["logits"].argmax()) == int(row["label"]) for row in csv.DictReader(file)]
    expect_equal((accuracy["decisions"], accuracy["classes"]), (360, 10), "decisions and classes")
    expect_equal([top["k"] for top in accuracy["top"]], [1, 5], "k")
    expect(abs(accuracy["top"][0]["baseline"] - np.mean(right)) < 1e-12, f"top-1 {accuracy['top'][0]}, ONNX Runtime has {np.mean(right)}")
    expect_equal(missed.returncode, 5, "exit code below --min-top1")
    expect("top-1" in missed.stderr, missed.stderr)


@test(cases=["vit_digits", "mobilenetv3_digits", "char_gpt"])
def accuracy_of_labelled_data(name):
    """The labelled sets of the shared data, against the score that NumPy gives ONNX Runtime's outputs."""
    data, model = shared("data", "tensors", name), shared("models", name + ".onnx")
    inputs, labels = (np.load(os.path.join(data, file))[:24] for file in ("inputs.npy", "labels.npy"))
    with temp_folder() as folder:
        for i, sample in enumerate(inputs):
            in_folder(folder, f"x/{i:04}.npy", sample)
        rows = in_folder(folder, "labels.npy", labels)
        out = os.path.join(folder, "out.json")
        quarkq("evaluate", "--float", model, "--quantized", model, "--data", os.path.join(folder, "x"), "--labels", rows, "--json", out)
        accuracy = read_json(out)["accuracy"]
        results = onnxruntime_results(model, os.path.join(folder, "x"))
    output = next(iter(next(iter(results.values()))))
    scores = np.stack([results[file][output] for file in sorted(results)])
    scores = scores.reshape(labels.size, -1)
    right = float((scores.argmax(1) == labels.ravel()).mean())
    expect_equal(accuracy["decisions"], labels.size, "decisions")
    expect_equal(accuracy["agreement"], 1.0, "agreement of a model with itself")
    expect(abs(accuracy["top"][0]["baseline"] - right) <= 1.5 / labels.size, f"top-1 {accuracy['top'][0]}, ONNX Runtime has {right}")
    return f"top-1 {right:.4f}"


@test()
def layers_put_the_worst_on_top():
    """A layer whose weights are spoilt in the quantized model is the worst, and the first that loses much."""
    with temp_folder() as folder:
        names = ["first", "second", "third"]
        def chain(path, spoilt):
            constants = [weights(f"w_{name}", 4, 4, 3, 3, seed=i) for i, name in enumerate(names)]
            if spoilt:
                bad = onnx.numpy_helper.to_array(constants[1]) + 0.3 * np.random.default_rng(5).normal(size=(4, 4, 3, 3)).astype(np.float32)
                constants[1] = onnx.numpy_helper.from_array(bad.astype(np.float32), "w_second")
            nodes = [helper.make_node("Conv", [source, f"w_{name}"], [target], name=name, pads=[1, 1, 1, 1])
                     for name, source, target in zip(names, ["x", "a", "b"], ["a", "b", "y"])]
            onnx.save(make_model(nodes, [("x", [1, 4, 8, 8])], [("y", [1, 4, 8, 8])], constants), path)
            return path
        good, bad = chain(os.path.join(folder, "good.onnx"), False), chain(os.path.join(folder, "bad.onnx"), True)
        data, out = save_samples(os.path.join(folder, "data"), shape=(1, 4, 8, 8)), os.path.join(folder, "out.json")
        text = quarkq("evaluate", "--float", good, bad, "--data", data, "--layers", "--json", out, "--layers-csv", out + ".csv").stdout
        layers, rows = read_json(out)["layers"], read_csv(out + ".csv")
    expect_equal(sorted(layer["tensor"] for layer in layers), ["a", "b", "y"], "tensors")
    expect_equal([layer["sqnr_db"] for layer in layers], sorted((layer["sqnr_db"] for layer in layers), key=lambda x: np.inf if x is None else x),
                 "order")
    by_name = {layer["tensor"]: layer for layer in layers}
    expect(by_name["a"]["sqnr_db"] is None and by_name["a"]["cosine"] == 1, f"the untouched layer is not exact: {by_name['a']}")
    expect(by_name["b"]["node"] == "node second (Conv)" and by_name["b"]["inputs_db"] is None, f"second: {by_name['b']}")
    expect_equal([row["tensor"] for row in rows], [layer["tensor"] for layer in layers], "rows of the CSV")
    expect(re.search(r"^SQNR dB\s+cos\s+inputs dB\s+lost dB\s+Tensor\s+Node$", text, re.M), f"no table of layers: {text}")


@test()
def layers_of_a_rewritten_model_need_its_config():
    """Equalization scales tensors inside. With the config the float model is rewritten likewise, and they compare."""
    with temp_folder() as folder:
        model, out = digits_pair(folder), os.path.join(folder, "out.json")
        least = []
        for more in ([], ["--config", "xint8"]):
            quarkq("evaluate", "--float", MODEL, model, "--data", CALIB, "--limit", 4, "--layers", "--json", out, *more)
            least.append(min(layer["sqnr_db"] for layer in read_json(out)["layers"]))
    expect(least[1] > 25, f"worst tensor {least[1]} dB with the config that the model was made with")
    expect(least[0] < 10, f"worst tensor {least[0]} dB without: there is nothing that the config could fix")
    return f"{least[0]:.1f} dB without, {least[1]:.1f} dB with the config"


@test()
def layers_that_are_lost_are_on_top():
    """A tensor that holds nothing of the float one is no exact one, however small it is; a mask is left out."""
    with temp_folder() as folder:
        def chain(name, factor, mask):
            constants = [onnx.numpy_helper.from_array(np.float32(value), key) for key, value in (("k", factor), ("back", 1 / factor))]
            constants.append(onnx.numpy_helper.from_array(np.array([0, mask], np.float32), "mask"))
            nodes = [helper.make_node("Mul", ["x", "k"], ["inner"], name="inner"), helper.make_node("Mul", ["inner", "back"], ["z"], name="z"),
                     helper.make_node("Add", ["z", "mask"], ["masked"], name="masked"), helper.make_node("Softmax", ["masked"], ["y"], name="y")]
            path = os.path.join(folder, name)
            onnx.save(make_model(nodes, [("x", [1, 2, 8, 2])], [("y", [1, 2, 8, 2])], constants), path)
            return path
        good, bad = chain("good.onnx", 1.0, -3e38), chain("bad.onnx", 1e-7, -100)
        data, out = save_samples(os.path.join(folder, "data"), shape=(1, 2, 8, 2)), os.path.join(folder, "out.json")
        lines = quarkq("evaluate", "--float", good, bad, "--data", data, "--layers", "--json", out).stdout.splitlines()
        layers = {layer["tensor"]: layer for layer in read_json(out)["layers"]}
    expect(layers["inner"]["sqnr_db"] is not None and layers["inner"]["sqnr_db"] < 1, f"a tensor that is lost: {layers['inner']}")
    expect("inner" in lines[[line.split()[:1] == ["SQNR"] for line in lines].index(True) + 1], f"the lost tensor is not on top: {lines}")
    expect(layers["masked"]["sqnr_db"] is None or layers["masked"]["sqnr_db"] > 60, f"half of a tensor is a mask: {layers['masked']}")


@test()
def models_with_other_layouts_compare():
    """A quantized model with channels-last inputs and outputs gets transposed samples, and its outputs are turned back."""
    with temp_folder() as folder:
        model, out = os.path.join(folder, "model.onnx"), os.path.join(folder, "q.onnx")
        onnx.save(conv_model(), model)
        data = save_samples(os.path.join(folder, "data"))
        quantize(model, out, data, "a8w8", "--set", "convert_nchw_to_nhwc=true")
        expect_equal([one.dim_value for one in onnx.load(out).graph.input[0].type.tensor_type.shape.dim], [1, 8, 8, 3], "input's shape")
        arguments = ["evaluate", "--float", model, out, "--data", data, "--layers", "--min-cos", 0.999]
        refused = run(*arguments)
        quarkq(*arguments, "--config", "a8w8", "--set", "convert_nchw_to_nhwc=true")
    expect_equal(refused.returncode, 2, "layers without the config")
    expect("--config" in refused.stderr, refused.stderr)


INPUT_ORDERS = [("by name", ["b", "a"]), ("by place where names differ", ["c", "d"]), ("by place where one differs", ["a", "d"])]


@test(cases=INPUT_ORDERS)
def inputs_are_paired(case):
    """y = a - b: the samples of an input reach the one of its name, wherever the other model has it."""
    _, names = case
    with temp_folder() as folder:
        model, other, data = (os.path.join(folder, name) for name in ("model.onnx", "other.onnx", "data"))
        shape = [1, 4]
        onnx.save(make_model([helper.make_node("Sub", ["a", "b"], ["c0"], name="difference"), helper.make_node("Relu", ["c0"], ["y"], name="relu")],
                             [("a", shape), ("b", shape)], [("y", shape)]), model)
        terms = sorted(names)
        onnx.save(make_model([helper.make_node("Sub", terms, ["c0"], name="difference"), helper.make_node("Relu", ["c0"], ["y"], name="relu")],
                             [(name, shape) for name in names], [("y", shape)]), other)
        random = np.random.default_rng(2)
        for name in "ab":
            for i in range(3):
                in_folder(data, f"{name}/{i}.npy", random.normal(size=shape).astype(np.float32))
        arguments = ["evaluate", "--float", model, other, "--data", data, "--json"]
        report, layers = json.loads(quarkq(*arguments).stdout), json.loads(quarkq(*arguments, "--layers").stdout)["layers"]
        onnx.save(make_model([helper.make_node("Sub", ["b", "d"], ["y"])], [("b", shape), ("d", shape)], [("y", shape)]), other)
        refused = run(*arguments)
    expect_equal(report["max_l2"], 0, "distance of equal models")
    expect(layers and all(layer["sqnr_db"] is None for layer in layers), f"tensors inside differ: {layers}")
    expect_equal(refused.returncode, 2, "exit code for names that are equal in part and in other places")
    expect("its input b has another position" in refused.stderr, f"found {refused.stderr!r}")


@test(cases=["sse41", "avx2", "native"])
def instruction_sets_and_threads_change_nothing(isa):
    with temp_folder() as folder:
        for i in range(40):
            values = np.random.default_rng(i).normal(size=(1, 3, 13, 17))
            in_folder(folder, f"a/{i}.npy", values)
            in_folder(folder, f"b/{i}.npy", np.round(values * 8) / 8)
        texts = []
        for name, threads in ((isa, 3), ("sse41", 1)):
            out = os.path.join(folder, "out.json")
            result = run("evaluate", os.path.join(folder, "a"), os.path.join(folder, "b"), "--isa", name, "--threads", threads, "--json", out)
            if result.returncode != 0 and "this machine" in result.stderr:
                raise harness.Skip(f"no {isa} here")
            texts.append((result.stdout, read_json(out)))
    expect_equal(texts[0], texts[1], "results")


USAGE = [
    ("both kinds", ["--float", "m.onnx", "--baseline_results_folder", "a", "b"], "--float"),
    ("models without data", ["--float", "m.onnx", "q.onnx"], "--data"),
    ("data without models", ["a", "b", "--data", "d"], "--float"),
    ("a model as folder", [MODEL, "b"], "--float"),
    ("top without labels", ["a", "b", "--top", "3"], "--labels"),
    ("one folder", ["a"], "--quantized_results_folder"),
    ("three folders", ["a", "b", "--quantized", "c"], "too many"),
    ("top-1 in percent", ["a", "b", "--labels", "l", "--min-top1", "98"], "--min-top1"),
    ("compat of models", ["--float", "m.onnx", "q.onnx", "--data", "d", "--compat", "quark-0.13"], "--compat"),
]


@test(cases=USAGE)
def wrong_usage_is_refused(case):
    _, arguments, word = case
    result = run("evaluate", *arguments)
    expect_equal((result.returncode, result.stdout), (2, ""), "exit code and stdout")
    expect(word in result.stderr, f"{word} is not named: {result.stderr!r}")


GATES = [("--min-cos", "min_cosine", "min cos similarity", 1), ("--max-l2", "max_l2", "max l2 distance", -1), ("--min-psnr", "min_psnr", "min psnr", 1),
         ("--min-ssim", "min_ssim", "min ssim", 1)]


@test(cases=GATES)
def a_gate_is_met_by_its_own_value_and_missed_by_the_next(case):
    option, key, name, direction = case
    random = np.random.default_rng(5)
    with temp_folder() as folder:
        a, b = (os.path.join(folder, one) for one in "ab")
        for sample in ("x.npy", "y.npy"):
            values = random.normal(size=(3, 16, 16))
            in_folder(a, sample, values)
            in_folder(b, sample, values + random.normal(scale=0.1, size=values.shape))
        found = json.loads(quarkq("evaluate", a, b, "--json").stdout)[key]
        beyond = float(np.nextafter(found, direction * np.inf))
        expect_equal(run("evaluate", a, b, option, repr(found)).returncode, 0, "exit code at the value")
        missed = run("evaluate", a, b, option, repr(beyond))
        expect_equal(missed.returncode, 5, "exit code beyond the value")
        expect(f"{name} is " in missed.stderr and ("at most" if direction < 0 else "at least") in missed.stderr, f"found {missed.stderr!r}")
        expect_equal(len(missed.stdout.splitlines()), 9, "lines of figures before the refusal")
        in_folder(b, "y.npy", np.full((3, 16, 16), np.nan))
        widest = "0.5" if option == "--min-cos" else "-1e9" if direction > 0 else "1e9"  # NaN lowers the cosine, all others are NaN
        expect_equal(run("evaluate", a, b, option, widest).returncode, 5, "exit code of NaN")


@test()
def all_missed_gates_are_named():
    with temp_folder() as folder:
        a, b = (os.path.dirname(in_folder(folder, one + "/x.npy", values)) for one, values in (("a", np.ones(4)), ("b", -np.ones(4))))
        missed = run("evaluate", a, b, "--min-cos", "0.5", "--max-l2", "1", "--min-psnr", "-100")
    expect_equal(missed.returncode, 5, "exit code")
    expect("min cos similarity is -1.0, required is at least 0.5; max l2 distance is 4.0, required is at most 1.0" in missed.stderr, f"found {missed.stderr!r}")
    expect("psnr" not in missed.stderr, "a gate that is met is named")


@test()
def outputs_that_do_not_match_are_refused():
    with temp_folder() as folder:
        good, other, wide = (os.path.join(folder, name) for name in ("good.onnx", "other.onnx", "wide.onnx"))
        onnx.save(conv_model(), good)
        onnx.save(make_model([helper.make_node("Conv", ["x", "w"], ["y"], name="conv")], [("x", [1, 3, 8, 8])], [("y", [1, 4, 6, 6])],
                             [weights("w", 4, 3, 3, 3)]), other)
        onnx.save(make_model([helper.make_node("Add", ["x", "z"], ["y"], name="add")], [("x", [1, 3, 8, 8]), ("z", [1, 3, 8, 8])],
                             [("y", [1, 3, 8, 8])]), wide)
        data = save_samples(os.path.join(folder, "data"))
        shapes = run("evaluate", "--float", good, other, "--data", data)
        inputs = run("evaluate", "--float", good, wide, "--data", data)
    expect_equal((shapes.returncode, shapes.stdout), (4, ""), "other shapes")
    expect(shapes.stderr.count("[1,4,6,6]") == 4, f"not every sample is named: {shapes.stderr!r}")
    expect_equal((inputs.returncode, inputs.stdout), (2, ""), "another number of inputs")


@test()
def outputs_are_opened_before_anything_is_compared():
    with temp_folder() as folder:
        for side in "ab":
            in_folder(folder, f"{side}/x.npy", np.ones(3))
        a, b, one = (os.path.join(folder, name) for name in ("a", "b", "one.json"))
        refused = run("evaluate", a, b, "--json", one, "--csv", os.path.join(folder, "nowhere", "x.csv"))
        expect_equal((refused.returncode, refused.stdout, os.listdir(folder).count("one.json")), (1, "", 0), "a folder that is not there")
        expect("nowhere" in refused.stderr, refused.stderr)
        twice = run("evaluate", a, b, "--json", one, "--csv", os.path.join(folder, ".", "one.json"))
        expect_equal((twice.returncode, twice.stdout, sorted(os.listdir(folder))), (2, "", ["a", "b"]), "one file for two tables")
        labels = in_folder(folder, "labels.txt", b"0\n")
        own = run("evaluate", a, b, "--labels", labels, "--csv", os.path.join(folder, ".", "labels.txt"))
        expect_equal((own.returncode, own.stdout), (2, ""), "a table in place of the labels")
        with open(labels, "rb") as file:
            expect_equal(file.read(), b"0\n", "the labels")


@test()
def inputs_are_never_overwritten():
    with temp_folder() as folder:
        model, data = os.path.join(folder, "m.onnx"), save_samples(os.path.join(folder, "data"))
        onnx.save(conv_model(), model)
        os.symlink(model, os.path.join(folder, "link.onnx"))
        with open(model, "rb") as file:
            before = file.read()
        for flag in ("--json", "--csv", "--layers-csv"):
            result = run("evaluate", "--float", model, "--quantized", model, "--data", data, flag, os.path.join(folder, "link.onnx"))
            expect_equal((result.returncode, result.stdout), (2, ""), f"{flag} with the model as its target")
        with open(model, "rb") as file:
            expect(file.read() == before, "the model was overwritten")


@test()
def findings_are_in_the_json():
    with temp_folder() as folder:
        for name in ("a/x.npy", "b/x.npy", "b/more.npy"):
            in_folder(folder, name, np.ones(3))
        out = os.path.join(folder, "out.json")
        quarkq("evaluate", os.path.join(folder, "a"), os.path.join(folder, "b"), "--json", out)
        findings = read_json(out)["findings"]
    expect_equal([(one["severity"], one["id"]) for one in findings], [("warning", "extra-results")], "findings")
    expect("more.npy" in findings[0]["text"], f"{findings}")


@test(cases=[("extended", {"VitisQuantizeLinear", "VitisDequantizeLinear"}), ("bfp", {"BFPFixNeuron"}), ("dynamic", set())])
def inspect_knows_old_names_and_dynamic_models(case):
    kind, old = case
    preset = {"extended": "bf16", "bfp": "bfp16", "dynamic": "uint8_dynamic_quant"}[kind]
    with temp_folder() as folder:
        model = digits_pair(folder, preset)
        before = json.loads(quarkq("inspect", model, "--json").stdout)
        proto = onnx.load(model)
        for node in proto.graph.node:
            if node.domain == "com.amd.quark":
                node.domain = "com.vai.quantize"
                node.op_type = node.op_type.replace("Extended", "Vitis").replace("BFPQuantizeDequantize", "BFPFixNeuron")
        proto.opset_import.append(helper.make_opsetid("com.vai.quantize", 1))
        onnx.save(proto, model)
        after = json.loads(quarkq("inspect", model, "--json").stdout)
    expect(before["is_quantized"] and after["is_quantized"], f"is_quantized {before['is_quantized']}, {after['is_quantized']}")
    expect(old <= {node.op_type for node in proto.graph.node}, "the old names are not in the model")
    expect(before["quantized"] and before["quantized"] == after["quantized"], f"{before['quantized']}, with old names {after['quantized']}")
    expect_equal(after["op_types"], before["op_types"], "types by operator with old names")


@test()
def a_pipe_gets_no_control_characters():
    with temp_folder() as folder:
        for side in "ab":
            in_folder(folder, f"{side}/x.npy", np.ones(3))
        result = quarkq("evaluate", os.path.join(folder, "a"), os.path.join(folder, "b"))
    expect("\r" not in result.stderr + result.stdout and "\033" not in result.stderr + result.stdout, "control characters in a pipe")


def neutral(text):
    """Without the version and the size of the file, in which the version stands."""
    version = quarkq("--version").stdout.split()[1]
    text = text.replace(f"quarkq {version}", "quarkq VERSION").replace(f'"{version}"', '"VERSION"')
    return re.sub(r'(?<="file_bytes": )\d+|(?<=\.onnx, )[\d.]+ k?B', "SIZE", text)


@test(cases=["float", "xint8", "a8w8", "bfp16"])
def inspect_golden(case):
    """Text and JSON of the example as the goldens have them; QUARKQ_REBASE=1 rewrites them."""
    with temp_folder() as folder:
        name = f"digits_{case}.onnx"
        if case == "float":
            os.symlink(MODEL, os.path.join(folder, name))
        else:  # the same instruction set everywhere: scales from observed ranges depend on its sums
            quantize(MODEL, os.path.join(folder, name), CALIB, case, "--isa", "sse41", "--target", "none")
        for suffix, more in ((".txt", []), (".json", ["--json"])):
            found = neutral(quarkq("inspect", name, "--nodes", "--scales", *more, cwd=folder).stdout)
            path = os.path.join(GOLDEN, case + suffix)
            if os.environ.get("QUARKQ_REBASE"):
                in_folder(GOLDEN, case + suffix, found.encode())
            with open(path, encoding="utf-8") as file:
                expect_equal(found.splitlines(), file.read().splitlines(), f"inspect of {name} against golden {case}{suffix}")


@test()
def inspect_refuses_damaged_models():
    with open(MODEL, "rb") as file:
        good = file.read()
    for name, data in (("cut", good[:len(good) // 2]), ("empty", b""), ("text", b"not a model at all\n" * 9)):
        with temp_folder() as folder:
            result = run("inspect", in_folder(folder, "bad.onnx", data), "--json")
        expect_equal((result.returncode, result.stdout), (3, ""), f"exit code and stdout of a model that is {name}")
        expect("bad.onnx" in result.stderr, f"{name}: the file is not named in {result.stderr!r}")


@test()
def progress_bar_on_a_terminal():
    """On a terminal stderr gets a bar; stdout stays as it is."""
    with temp_folder() as folder:
        for side in "ab":
            for i in range(40):
                in_folder(folder, f"{side}/{i}.npy", np.ones(3))
        master, terminal = os.openpty()
        done = subprocess.run([harness.QUARKQ, "evaluate", os.path.join(folder, "a"), os.path.join(folder, "b")], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=terminal, timeout=60, check=True)
        os.set_blocking(master, False)  # one read returns one update
        shown = ""
        with contextlib.suppress(BlockingIOError):
            while True:
                shown += os.read(master, 65536).decode()
        os.close(terminal)
        os.close(master)
    expect("40/40" in shown and "\r" in shown, f"no bar: {shown!r}")
    expect_equal(len(done.stdout.splitlines()), 9, "lines on stdout")
