# SPDX-License-Identifier: MIT
"""Photos and other data sets: recipes, what samples hold, and whether they suit the model."""
import json
import os
import shutil

import numpy as np

from harness import expect, expect_equal, quarkq, run, shared, temp_folder, test
from reference import ALL_MODELS
from sample_networks import Network, photos
from test_calib_data import Place, png

RECIPES = ["imagenet", "imagenet-bgr", "caffe", "tf", "clip", "yolo-letterbox", "raw"]


def save(folder, arrays):
    os.makedirs(folder)
    for i, array in enumerate(arrays):
        np.save(os.path.join(folder, f"{i}.npy"), array[None])
    return folder


def save_photos(folder, count, size=(40, 30)):
    """In two folders of classes."""
    random = np.random.default_rng(5)
    for i in range(count):
        name = os.path.join(folder, f"class{i % 2}", f"photo{i}.png")
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "wb") as file:
            file.write(png(random.integers(0, 256, (*size, 3))))
    return folder


def report_of(model, calib, *more, config="xint8"):
    """The JSON report of a run that must succeed."""
    with temp_folder() as folder:
        output = os.path.join(folder, "out.onnx")
        result = quarkq("quantize", "--config", config, "--calib", calib, "-o", output, "--json", "--no-verify", *more, model)
        return json.loads(result.stdout)


def warned(report):
    return [finding["text"] for finding in report["findings"] if finding["id"] == "implausible-input"]


def verbs(place, photos_folder):
    quantizes = ["--config", "xint8", "--calib", photos_folder]
    return {
        "quantize": ["quantize", *quantizes, "-o", place.path("q.onnx"), place.model],
        "calibrate": ["calibrate", *quantizes, "-o", place.path("stats.bin"), place.model],
        "analyze": ["analyze", *quantizes, place.model],
        "run": ["run", place.model, "--inputs", photos_folder, "--outputs", place.path("results")],
        "evaluate": ["evaluate", "--float", place.model, "--quantized", place.model, "--data", photos_folder],
    }


@test()
def photos_need_a_recipe_everywhere():
    with temp_folder() as folder:
        place = Place(folder)
        for verb, command in verbs(place, save_photos(place.path("photos"), 8)).items():
            refused = run(*command)
            expect_equal(refused.returncode, 4, f"{verb}: exit code")
            for word in ["photo0.png", "--preprocess", *RECIPES]:
                expect(word in refused.stderr, f"{verb}: {word} is not in {refused.stderr!r}")
            quarkq(*command, "--preprocess", "imagenet")
            wrong = run(*command, "--preprocess", "imagnet")
            expect_equal(wrong.returncode, 2, f"{verb}: exit code of a wrong name")
            expect("did you mean imagenet?" in wrong.stderr, f"{verb}: {wrong.stderr!r}")


@test(cases=RECIPES)
def recipes_by_name_in_a_file_and_as_their_block_agree(name):
    rows = {row["name"]: row for row in json.loads(quarkq("list", "recipes", "--json").stdout)}
    with temp_folder() as folder:
        place = Place(folder)
        data = save_photos(place.path("photos"), 8)
        files = {"by name": f"preprocess: {name}\n", "as a map": f"preprocess: {{recipe: {name}}}\n",
                 "as a block": f"preprocess: {rows[name]['block']}\n"}
        found = {"option": report_of(place.model, data, "--preprocess", name)["inputs"]}
        for form, text in files.items():
            found[form] = report_of(place.model, data, config=place.config(text))["inputs"]
        for form, inputs in found.items():
            expect_equal(inputs, found["option"], form)


@test()
def run_names_results_after_photos():
    with temp_folder() as folder:
        place = Place(folder)
        data = save_photos(place.path("photos"), 4)
        quarkq("run", place.model, "--inputs", data, "--outputs", place.path("a"), "--preprocess", "tf")
        names = sorted(os.path.relpath(os.path.join(root, file), place.path("a"))
                       for root, _, files in os.walk(place.path("a")) for file in files)
        expect_equal(names, ["class0/photo0.npy", "class0/photo2.npy", "class1/photo1.npy", "class1/photo3.npy"], "results")
        config = place.config("preprocess: {recipe: tf, color: BGR}\n")
        quarkq("run", place.model, "--inputs", data, "--outputs", place.path("b"), "--config", config, "--set", "preprocess.color=RGB")
        for name in names:
            expect(np.array_equal(np.load(place.path("a", name)), np.load(place.path("b", name))), f"{name} differs")


@test()
def summary_and_report_say_what_samples_hold():
    with temp_folder() as folder:
        place = Place(folder)
        arrays = np.random.default_rng(3).normal(size=(9, 3, 8, 8)).astype(np.float32) * [[[[1]], [[2]], [[3]]]]
        data = save(place.path("data"), arrays.astype(np.float32))
        entry, = report_of(place.model, data)["inputs"]
        expect_equal([entry["name"], entry["type"], entry["shape"], entry["samples"]], ["x", "FLOAT", [1, 3, 8, 8], 9], "input")
        wanted = {"min": arrays.min(), "max": arrays.max(), "mean": arrays.mean((0, 2, 3)), "std": arrays.std((0, 2, 3))}
        for key, value in wanted.items():
            expect(np.allclose(entry[key], value, atol=1e-5), f"{key}: found {entry[key]}, expected {value}")
        text = quarkq("quantize", "--config", "xint8", "--calib", data, "-o", place.path("q.onnx"), place.model).stdout
        line, = [line for line in text.splitlines() if line.startswith("input ")]
        expect("x FLOAT[1,3,8,8]: min" in line and "(9 samples)" in line, line)
        expect(text.startswith("model "), f"nothing to be careful of, but {text.splitlines()[0]!r}")
        quarkq("quantize", "--config", "xint8", "--calib", data, "-o", place.path("q.onnx"), "--report", place.path("r.json"),
               "--quiet", place.model)
        quarkq("report", place.path("r.json"))
        with open(place.path("r.html"), encoding="utf-8") as page:
            expect("FLOAT[1,3,8,8]" in page.read(), "the page does not show the input")


@test(cases=[("few", "only 3 samples"), ("zero", "all values of input x are 0"), ("constant", "all values of input x are 0.5"),
             ("random", "random data")])
def first_line_says_what_to_be_careful_of(case):
    kind, words = case
    arrays = {"few": np.random.default_rng(1).normal(size=(3, 3, 8, 8)), "zero": np.zeros((8, 3, 8, 8)),
              "constant": np.full((8, 3, 8, 8), 0.5)}
    with temp_folder() as folder:
        place = Place(folder)
        calib = ["--set", "calibration.random=true"]
        if kind != "random":
            calib = ["--calib", save(place.path("data"), arrays[kind].astype(np.float32))]
        text = quarkq("quantize", "--config", "xint8", *calib, "-o", place.path("q.onnx"), place.model).stdout
        expect(text.startswith("caution ") and words in text.splitlines()[0], text.splitlines()[0])


# name, what the network is, a wrong form of its images, what the warning says of the way out
NETWORKS = [
    ("resnet", {"seed": 1, "form": "imagenet"}, "no scale", "imagenet"),
    ("resnet, folded", {"seed": 2, "form": "imagenet", "folded": True}, "no scale", "1/255"),
    ("mobilenet", {"seed": 3, "form": "tf", "activation": "Clip"}, "raw", "tf"),
    ("mobilenet, folded", {"seed": 4, "form": "tf", "activation": "Clip", "folded": True}, "raw", "tf"),
    ("yolo, folded", {"seed": 5, "form": "unit", "activation": "SiLU", "folded": True}, "raw", "yolo-letterbox"),
    ("pixels", {"seed": 6, "form": "raw"}, "imagenet", "raw"),
    ("pixels, folded", {"seed": 7, "form": "raw", "folded": True}, "unit", "raw"),
    ("channels last", {"seed": 8, "form": "imagenet", "last": True}, "unit", "imagenet"),
    ("grey", {"seed": 9, "form": "unit", "channels": 1}, "raw", "yolo-letterbox"),
    ("scaled inside", {"seed": 10, "form": "raw", "inside": (127.5, 1 / 127.5)}, "imagenet", "raw"),
]


@test(cases=NETWORKS)
def wrong_forms_of_images_are_warned_of(case):
    _, options, wrong, way_out = case
    with temp_folder() as folder:
        network = Network(**options)
        model = network.save(os.path.join(folder, "m.onnx"))
        pixels = photos(8, 77, network.channels)
        right = warned(report_of(model, save(os.path.join(folder, "right"), network.inputs(pixels, options["form"]))))
        expect(not right, f"warned of the right form: {right}")
        texts = warned(report_of(model, save(os.path.join(folder, "wrong"), network.inputs(pixels, wrong))))
        expect(len(texts) == 1, f"not warned of {wrong} for {options['form']}")
        expect(way_out in texts[0], f"{way_out} is not in {texts[0]!r}")


@test(cases=["caffe", "raw", "imagenet", "unit", "no scale"])
def small_biases_say_nothing_of_the_scale(form):
    """A network trained without normalization works on any scale; only values that no recipe gives are warned of."""
    with temp_folder() as folder:
        network = Network(seed=11, form="caffe", normalized=False)
        model = network.save(os.path.join(folder, "m.onnx"))
        texts = warned(report_of(model, save(os.path.join(folder, "data"), network.inputs(photos(8, 78), form))))
        expect_equal(len(texts), 1 if form == "no scale" else 0, f"warnings {texts}")


@test(cases=ALL_MODELS)
def no_warning_for_the_own_inputs_of(model):
    report = report_of(shared("models", model + ".onnx"), shared("golden", "inputs", model, "calib"), config="a8w8")
    expect_equal(warned(report), [], "warnings")


# Models with a wrong form of the images, as (subtracted, divided by) of their own inputs; dividing by less than 1 comes first.
SHARED_WRONG = {
    "ultraface_rfb_320": (-127, 1 / 128), "ppocrv3_det": (-2.0, 4.4), "efficientnet_lite0_224": (-127, 1 / 128),
    "deeplabv3_mnv2_voc_257": (-127.5, 1 / 127.5), "mobilenetv1_025_vww_96": (2, 0.225 / 255), "resnet8_cifar10": (0, 255),
    "fastestdet_352": (0, 1 / 255),
}


@test(cases=list(SHARED_WRONG))
def wrong_inputs_of_shared_models_are_warned_of(model):
    offset, divisor = SHARED_WRONG[model]
    own = shared("golden", "inputs", model, "calib")
    path = shared("models", model + ".onnx")
    with temp_folder() as folder:
        for name in sorted(os.listdir(own)):
            array = np.load(os.path.join(own, name)).astype(np.float64)
            changed = array / divisor - offset if divisor < 1 else (array - offset) / divisor
            np.save(os.path.join(folder, name), changed.astype(np.float32))
        expect_equal(len(warned(report_of(path, folder, config="a8w8"))), 1, "warnings")
