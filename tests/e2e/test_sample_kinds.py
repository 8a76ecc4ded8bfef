# SPDX-License-Identifier: MIT
"""Samples as they come from other tools and systems: byte order marks, photos of any layout, folders of classes, names that clash."""
import json
import os
import struct
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import expect, expect_equal, expect_error, quarkq, run, temp_folder, test


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def save(folder, nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(array, name) for name, array in constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = os.path.join(folder, "m.onnx")
    onnx.save(model, path)
    return path


def vector_model(folder):
    weight = np.random.default_rng(1).standard_normal((8, 4)).astype(np.float32)
    return save(folder, [helper.make_node("Relu", ["x"], ["m"], name="relu"), helper.make_node("MatMul", ["m", "w"], ["y"], name="mm")],
                [value("x", [2, 8])], [value("y", [2, 4])], [("w", weight)])


def arrays(folder, shape, count=4):
    os.makedirs(folder, exist_ok=True)
    for i in range(count):
        np.save(os.path.join(folder, f"s{i}.npy"), np.random.default_rng(i).standard_normal(shape).astype(np.float32))


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(pixels):
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) +
            chunk(b"IEND", b""))


def bmp(pixels):
    """24 bits, rows from below, padded to four bytes."""
    height, width, _ = pixels.shape
    padding = b"\0" * (-3 * width % 4)
    data = b"".join(row[:, ::-1].tobytes() + padding for row in pixels[::-1])
    return struct.pack("<2sIHHI", b"BM", 54 + len(data), 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, len(data), 0, 0, 0, 0) + data


def pixels(seed, height=36, width=40):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3)).astype(np.uint8)


def photos(folder, count=4, write_photo=png, suffix=".png"):
    for i in range(count):
        write(os.path.join(folder, f"p{i}{suffix}"), write_photo(pixels(i)))
    return folder


# Texts.

MARK = b"\xef\xbb\xbf"


ENCODINGS = [("mark", lambda text: MARK + text.encode()), ("mark and CRLF", lambda text: MARK + text.replace("\n", "\r\n").encode()),
             ("CRLF", lambda text: text.replace("\n", "\r\n").encode())]


@test(cases=ENCODINGS)
def texts_of_other_systems(case):
    _, encode = case
    with temp_folder() as folder:
        model = vector_model(folder)
        arrays(os.path.join(folder, "samples"), (2, 8))
        write(os.path.join(folder, "list.txt"), encode("samples/s0.npy\nsamples/s1.npy\n"))
        write(os.path.join(folder, "settings.yaml"), encode(f"preset: A8W8\ncalibration:\n  list: {folder}/list.txt\n"))
        report = json.loads(quarkq("quantize", "-c", os.path.join(folder, "settings.yaml"), "-o", os.path.join(folder, "q.onnx"), "--json", model).stdout)
        expect_equal(report["samples"], 2, "samples of the list")


@test(cases=ENCODINGS)
def labels_of_other_systems(case):
    _, encode = case
    with temp_folder() as folder:
        model, data = class_model(folder), os.path.join(folder, "val")
        class_folders(data)
        write(os.path.join(folder, "labels.csv"), encode("name,label\n" + "".join(f"night/{i},0\nday/{i},1\n" for i in range(3))))
        report = json.loads(quarkq("evaluate", model, "--data", data, "--labels", os.path.join(folder, "labels.csv"), "--metric", "top1", "--preprocess",
                                   "raw", "--json").stdout)
    expect_equal(report["metrics"][0]["value"], 1.0, "top-1")


@test(cases=["utf-16-le", "utf-16-be", "utf-16"])
def utf_16_is_named(encoding):
    with temp_folder() as folder:
        model = vector_model(folder)
        arrays(os.path.join(folder, "samples"), (2, 8))
        write(os.path.join(folder, "list.txt"), "samples/s0.npy\nsamples/s1.npy\n".encode(encoding))
        write(os.path.join(folder, "settings.yaml"), "preset: A8W8\n".encode(encoding))
        result = run("quantize", "-c", "a8w8", "--set", f"calibration.list={folder}/list.txt", "-o", os.path.join(folder, "q.onnx"), model)
        expect_error(result, 4, "list.txt: is UTF-16", "UTF-8")
        result = run("quantize", "-c", os.path.join(folder, "settings.yaml"), "--calib", os.path.join(folder, "samples"), "-o", os.path.join(folder, "q.onnx"), model)
        expect_error(result, 2, "settings.yaml: is UTF-16", "UTF-8")


# Photos.

SHAPES = {"[3,32,32]": [3, 32, 32], "[32,32,3]": [32, 32, 3], "[1,3,32,32]": [1, 3, 32, 32], "[1,32,32,3]": [1, 32, 32, 3],
          "[n,3,32,32]": ["n", 3, 32, 32]}


def image_model(folder, shape, axes=3):
    """The mean of each photo over its last axes."""
    return save(folder, [helper.make_node("ReduceMean", ["x"], ["y"], name="mean", axes=list(range(-axes, 0)), keepdims=0)], [value("x", shape)],
                [value("y", shape[:-axes])])


@test(cases=list(SHAPES))
def photos_for_inputs_of_any_layout(name):
    with temp_folder() as folder:
        model = image_model(folder, SHAPES[name])
        photos(os.path.join(folder, "photos"))
        quarkq("run", model, "--inputs", os.path.join(folder, "photos"), "--outputs", os.path.join(folder, "out"), "--preprocess", "raw", "--quiet")
        for i in range(4):
            found = float(np.load(os.path.join(folder, "out", f"p{i}.npy")).squeeze())
            expect(abs(found - pixels(i).mean()) < 4, f"photo {i}: mean {found}, about {pixels(i).mean()} expected")


@test()
def recipes_take_inputs_without_batch():
    with temp_folder() as folder:
        weight = np.random.default_rng(1).standard_normal((4, 3, 3, 3)).astype(np.float32)
        model = save(folder, [helper.make_node("Unsqueeze", ["x", "axis"], ["b"], name="batch"),
                              helper.make_node("Conv", ["b", "w"], ["y"], name="conv", kernel_shape=[3, 3])], [value("x", [3, 32, 32])],
                     [value("y", [1, 4, 30, 30])], [("w", weight), ("axis", np.array([0]))])
        photos(os.path.join(folder, "photos"))
        report = json.loads(quarkq("quantize", "-c", "a8w8", "--preprocess", "imagenet", "--calib", os.path.join(folder, "photos"), "-o",
                                   os.path.join(folder, "q.onnx"), "--json", model).stdout)
        expect_equal(report["inputs"][0]["shape"], [3, 32, 32], "shape of the samples")
        result = run("quantize", "-c", "a8w8", "--preprocess", "imagenet", "--set", "preprocess.batch=2", "--calib", os.path.join(folder, "photos"), "-o",
                     os.path.join(folder, "q.onnx"), model)
        expect_error(result, 2, "preprocess.batch: found 2", "has no batch")


@test()
def a_fixed_batch_names_its_setting():
    with temp_folder() as folder:
        model = image_model(folder, [4, 3, 32, 32])
        photos(os.path.join(folder, "photos"), count=10)
        command = ("run", model, "--inputs", os.path.join(folder, "photos"), "--outputs", os.path.join(folder, "out"), "--preprocess", "raw")
        expect_error(run(*command), 4, "preprocess.batch=4")
        expect_error(run(*command, "--set", "preprocess.batch=2"), 4, "shape [2,3,32,32], input x takes [4,3,32,32]; set preprocess.batch=4")
        os.mkdir(os.path.join(folder, "one"))
        single = ("run", image_model(os.path.join(folder, "one"), [1, 3, 32, 32]), *command[2:])
        expect_error(run(*single, "--set", "preprocess.batch=4"), 4, "shape [4,3,32,32], input x takes [1,3,32,32]; leave out preprocess.batch")
        result = quarkq(*command, "--set", "preprocess.batch=4")
        expect_equal(len(os.listdir(os.path.join(folder, "out"))), 2, "samples")
        expect("the last 2 photos do not fill a batch of 4" in result.stdout + result.stderr, f"nothing is said of the rest: {result.stdout}{result.stderr}")


@test(cases=["quantize", "run", "evaluate", "metric"])
def dynamic_inputs_get_a_size(verb):
    """By --shape or by a key of the recipe, in verbs that need no preset; the message names both."""
    with temp_folder() as folder:
        model, data = image_model(folder, [1, 3, "h", "w"], axes=2), photos(os.path.join(folder, "photos"))
        labels = os.path.join(folder, "labels.npy")
        np.save(labels, np.zeros(len(os.listdir(data)), np.int64))
        command = {"quantize": ["quantize", model, "--config", "a8w8", "--calib", data, "-o", os.path.join(folder, "q.onnx")],
                   "run": ["run", model, "--inputs", data, "--outputs", os.path.join(folder, "results")],
                   "evaluate": ["evaluate", "--float", model, "--quantized", model, "--data", data],
                   "metric": ["evaluate", "--float", model, "--data", data, "--metric", "top1", "--labels", labels]}[verb]
        refused = run(*command, "--preprocess", "yolo-letterbox")
        expect_equal(refused.returncode, 2, f"exit code ({refused.stderr})")
        for words in ("--shape x=1,3,640,640", "--set preprocess.resize.size=640"):
            expect(words in refused.stderr, f"{words!r} is not in {refused.stderr}")
        quarkq(*command, "--preprocess", "yolo-letterbox", "--shape", "x=1,3,32,32")
        quarkq(*command, "--preprocess", "yolo-letterbox", "--set", "preprocess.resize.size=32")
        quarkq(*command, "--set", "preprocess.resize.size=32", "--preprocess", "yolo-letterbox")


@test()
def a_dynamic_model_takes_the_size_of_its_result():
    with temp_folder() as folder:
        model, data, fixed = image_model(folder, [1, 3, "h", "w"], axes=2), photos(os.path.join(folder, "photos")), os.path.join(folder, "q.onnx")
        quarkq("quantize", model, "--config", "a8w8", "--calib", data, "-o", fixed, "--preprocess", "yolo-letterbox", "--shape", "x=1,3,32,32")
        text = quarkq("evaluate", "--float", model, "--quantized", fixed, "--data", data, "--preprocess", "yolo-letterbox").stdout
        expect("Min cos similarity: 0.9" in text, text)
        more = run("evaluate", "--float", model, "--quantized", fixed, "--data", data, "--preprocess", "yolo-letterbox", "--shape", "y=1,3,32,32")
        expect_equal(more.returncode, 2, "exit code of a shape for no input")


@test()
def bitmaps_are_photos():
    with temp_folder() as folder:
        model = image_model(folder, [1, 3, 36, 40])
        photos(os.path.join(folder, "png"))
        photos(os.path.join(folder, "bmp"), write_photo=bmp, suffix=".bmp")
        for kind in ("png", "bmp"):
            quarkq("run", model, "--inputs", os.path.join(folder, kind), "--outputs", os.path.join(folder, "out", kind), "--preprocess", "raw", "--quiet")
        for i in range(4):
            found = [np.load(os.path.join(folder, "out", kind, f"p{i}.npy")) for kind in ("png", "bmp")]
            expect(np.array_equal(*found), f"photo {i} differs")


@test()
def other_photos_are_named():
    with temp_folder() as folder:
        model = image_model(folder, [1, 3, 32, 32])
        for i in range(2):
            write(os.path.join(folder, "webp", f"{i}.webp"), b"RIFF\x10\0\0\0WEBPVP8 ")
        command = ("run", model, "--outputs", os.path.join(folder, "out"), "--preprocess", "raw", "--inputs")
        expect_error(run(*command, os.path.join(folder, "webp")), 4, "2 x .webp", "convert the photos")
        photos(os.path.join(folder, "webp"), count=3)
        result = quarkq(*command, os.path.join(folder, "webp"))
        expect("2 x .webp" in result.stdout + result.stderr, f"nothing is said of the others: {result.stdout}{result.stderr}")


# Faults that are found before the model is prepared.

@test(cases=[("NHWC", (1, 32, 32, 3), [1, 3, 32, 32], "looks like NHWC"), ("NCHW", (1, 3, 32, 32), [1, 32, 32, 3], "looks like NCHW"),
             ("other", (1, 3, 16, 16), [1, 3, 32, 32], "takes [1,3,32,32]")])
def wrong_shapes_are_found_first(case):
    _, found, wanted, text = case
    with temp_folder() as folder:
        model = image_model(folder, wanted)
        arrays(os.path.join(folder, "samples"), wanted, count=6)
        np.save(os.path.join(folder, "samples", "s5.npy"), np.zeros(found, np.float32))
        result = run("quantize", "-c", "a8w8", "--calib", os.path.join(folder, "samples"), "-o", os.path.join(folder, "q.onnx"), model)
        expect_error(result, 4, "s5.npy", text)
        expect("calibrate" not in result.stderr, f"it was found while calibrating: {result.stderr}")


@test()
def cut_photos_are_found_first():
    with temp_folder() as folder:
        model = image_model(folder, [1, 3, 32, 32])
        photos(os.path.join(folder, "photos"), count=6)
        write(os.path.join(folder, "photos", "p5.png"), png(pixels(5))[:1000])
        result = run("quantize", "-c", "a8w8", "--preprocess", "raw", "--calib", os.path.join(folder, "photos"), "-o", os.path.join(folder, "q.onnx"), model)
        expect_error(result, 4, "p5.png", "cannot be decoded")
        expect("calibrate" not in result.stderr, f"it was found while calibrating: {result.stderr}")


@test()
def a_recipe_for_arrays_has_no_effect():
    with temp_folder() as folder:
        model = vector_model(folder)
        arrays(os.path.join(folder, "samples"), (2, 8))
        report = json.loads(quarkq("quantize", "-c", "a8w8", "--preprocess", "imagenet", "--calib", os.path.join(folder, "samples"), "-o",
                                   os.path.join(folder, "q.onnx"), "--json", model).stdout)
        other = json.loads(quarkq("quantize", "-c", "a8w8", "--set", "Percentile=99.9", "--calib", os.path.join(folder, "samples"), "-o",
                                  os.path.join(folder, "q.onnx"), "--json", model).stdout)
    for made, subject in ((report, "preprocess"), (other, "Percentile")):
        found = [(finding["id"], finding["subject"]) for finding in made["findings"]]
        expect(("option-no-effect", subject) in found, f"no warning of {subject}: {found}")


# Folders.

def class_model(folder):
    """Class 1 for bright photos."""
    axes = [1, 2, 3]
    nodes = [helper.make_node("ReduceMean", ["x"], ["m"], name="mean", axes=axes, keepdims=0), helper.make_node("Unsqueeze", ["m", "one"], ["u"], name="wide"),
             helper.make_node("MatMul", ["u", "w"], ["a"], name="mm"), helper.make_node("Add", ["a", "b"], ["y"], name="add")]
    return save(folder, nodes, [value("x", [1, 3, 36, 40])], [value("y", [1, 2])],
                [("one", np.array([1])), ("w", np.array([[-1, 1]], np.float32)), ("b", np.array([255, 0], np.float32))])


def class_folders(folder):
    """Dark photos in `night`, bright ones in `day`; of the same names."""
    for i in range(3):
        write(os.path.join(folder, "night", f"{i}.png"), png(pixels(i) // 4))
        write(os.path.join(folder, "day", f"{i}.png"), png(pixels(i) // 4 + 180))


@test(cases=[("sorted", None, 0.0), ("classes.txt", b"night\r\nday\r\n", 1.0)])
def class_folders_are_labels(case):
    _, classes, wanted = case
    with temp_folder() as folder:
        model, data = class_model(folder), os.path.join(folder, "val")
        class_folders(data)
        if classes:
            write(os.path.join(data, "classes.txt"), classes)
        report = json.loads(quarkq("evaluate", model, "--data", data, "--labels", data, "--metric", "top1", "--preprocess", "raw", "--json").stdout)
    expect(abs(report["metrics"][0]["value"] - wanted) < 1e-9, f"found {report['metrics']}")


@test()
def stray_photos_beside_classes_are_refused():
    with temp_folder() as folder:
        model, data = class_model(folder), os.path.join(folder, "val")
        class_folders(data)
        write(os.path.join(data, "preview.png"), png(pixels(1)))
        result = run("run", model, "--inputs", data, "--outputs", os.path.join(folder, "out"), "--preprocess", "raw")
        expect_error(result, 4, "1 photo (preview.png)", "6")


@test()
def deep_folders_are_named():
    with temp_folder() as folder:
        model = vector_model(folder)
        arrays(os.path.join(folder, "calib", "a", "b"), (2, 8))
        result = run("quantize", "-c", "a8w8", "--calib", os.path.join(folder, "calib"), "-o", os.path.join(folder, "q.onnx"), model)
        expect_error(result, 4, "one level deep", "calib/a/b")


# Names that clash.

@test(cases=[("three", ["a/b", "a_b", "a:b"]), ("with numbers", ["a/b", "a_b", "a_b_2"]), ("dots", ["..", "__", "."]), ("order", ["a_b", "a/b"])])
def each_output_has_a_place_of_its_own(case):
    _, names = case
    ops = ["Relu", "Sigmoid", "Tanh"]
    with temp_folder() as folder:
        nodes = [helper.make_node(op, ["x"], [name], name=op) for op, name in zip(ops, names)]
        model = save(folder, nodes, [value("x", [1, 4])], [value(name, [1, 4]) for name in names])
        arrays(os.path.join(folder, "samples"), (1, 4), count=3)
        report = json.loads(quarkq("run", model, "--inputs", os.path.join(folder, "samples"), "--outputs", os.path.join(folder, "out"), "--json").stdout)
        x = np.load(os.path.join(folder, "samples", "s0.npy"))
        wanted = {"Relu": np.maximum(x, 0), "Sigmoid": 1 / (1 + np.exp(-x)), "Tanh": np.tanh(x)}
        for op, name in zip(ops, names):
            spelling = "_" * len(name) if name in (".", "..") else name.replace("/", "_").replace(":", "_")
            own = report["renamed"].get(name, spelling)
            expect(np.allclose(np.load(os.path.join(folder, "out", own, "s0.npy")), wanted[op], atol=1e-6), f"{own} is not the result of {name}")
        expect_equal(len(os.listdir(os.path.join(folder, "out"))), len(names), "folders")


def write_array(path, array):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    np.save(path, array)


@test()
def inputs_that_are_spelt_alike_read_no_folder_twice():
    with temp_folder() as folder:
        model = save(folder, [helper.make_node("Sub", ["a/b", "a_b"], ["y"], name="sub")], [value("a/b", [1, 4]), value("a_b", [1, 4])], [value("y", [1, 4])])
        data = os.path.join(folder, "samples")
        write_array(os.path.join(data, "a_b", "s.npy"), np.ones((1, 4), np.float32))
        command = ("run", model, "--inputs", data, "--outputs", os.path.join(folder, "out"), "--quiet")
        expect_error(run(*command), 4, "a/b", "several inputs")
        write_array(os.path.join(data, "a", "b", "s.npy"), np.full((1, 4), 3, np.float32))
        quarkq(*command)
        expect_equal(np.load(os.path.join(folder, "out", "s.npy")).tolist(), [[2.0] * 4], "difference of the inputs")


# Inputs that are no tensors.

@test(cases=["sequence", "optional"])
def containers_are_refused_in_words(kind):
    with temp_folder() as folder:
        tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, [1, 3, 8, 8])
        if kind == "sequence":
            given = helper.make_value_info("xs", helper.make_sequence_type_proto(tensor))
            nodes = [helper.make_node("ConcatFromSequence", ["xs"], ["x"], name="join", axis=0)]
        else:
            given = helper.make_value_info("xs", helper.make_optional_type_proto(tensor))
            nodes = [helper.make_node("OptionalGetElement", ["xs"], ["x"], name="get")]
        weight = np.random.default_rng(1).standard_normal((4, 3, 3, 3)).astype(np.float32)
        model = save(folder, nodes + [helper.make_node("Conv", ["x", "w"], ["y"], name="conv", kernel_shape=[3, 3])], [given],
                     [value("y", ["n", 4, 6, 6])], [("w", weight)])
        arrays(os.path.join(folder, "samples"), (1, 3, 8, 8))
        result = run("quantize", "-c", "a8w8", "--calib", os.path.join(folder, "samples"), "-o", os.path.join(folder, "q.onnx"), model)
        expect_error(result, 4, "input xs is a", kind, "cannot store", "BF16")
