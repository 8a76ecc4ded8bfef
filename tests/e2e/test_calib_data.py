# SPDX-License-Identifier: MIT
"""Calibration data in every form: the same values give the same quantized bytes, and bad files are refused by name."""
import io
import os
import shutil
import struct
import tarfile
import zipfile
import zlib

import numpy as np
import onnx
from onnx import helper, numpy_helper

from harness import expect, quarkq, run, run_model, temp_folder, test
from reference import conv_model, expect_same_bytes, expect_same_file, make_model, save_samples

DATA = 4
SHAPE = (1, 3, 8, 8)


def arrays(count=4):
    """Values that any form keeps: pixels 0 to 255."""
    return [np.random.default_rng(11 + i).integers(0, 256, SHAPE).astype(np.float32) for i in range(count)]


def png(pixels, claimed=None, color=2):
    """An 8-bit PNG of [H, W, 3] pixels; `claimed`: (width, height) that its head says instead."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    height, width = pixels.shape[:2]
    head = struct.pack(">IIBBBBB", *(claimed or (width, height)), 8, color, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels.astype(np.uint8))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Place:
    """A folder with a model and samples in whatever form a test wants."""

    def __init__(self, folder):
        self.folder = folder
        self.model = self.path("model.onnx")
        onnx.save(conv_model(), self.model)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, content):
        """A file with these bytes, text, or array (.npy); returns its path."""
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if isinstance(content, np.ndarray):
            np.save(path, content)
            return path
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        return path

    def config(self, text):
        return self.write("config.yaml", "preset: XINT8\n" + text)

    def quantize(self, output, *more, config="xint8", model=None):
        quarkq("quantize", "--config", config, "-o", output, "--quiet", *more, model or self.model)
        return output


def tensor_bytes(array):
    return numpy_helper.from_array(array).SerializeToString()


# Writers: each puts the arrays below "data" and returns the block for the settings file, or None.

def as_npz(place, samples):
    for i, sample in enumerate(samples):
        save = np.savez if i % 2 else np.savez_compressed
        os.makedirs(place.path("data"), exist_ok=True)
        save(place.path("data", f"{i:04d}.npz"), x=sample, other=np.array(["an array of no input"]))


def as_npz_of_any_name(place, samples):
    os.makedirs(place.path("data"))
    for i, sample in enumerate(samples):
        np.savez(place.path("data", f"{i:04d}.npz"), sample)


def as_pb(place, samples):
    for i, sample in enumerate(samples):
        place.write(f"data/{i:04d}.pb", tensor_bytes(sample))


def as_test_data_sets(place, samples):
    for i, sample in enumerate(samples):
        place.write(f"data/test_data_set_{i}/input_0.pb", tensor_bytes(sample))
        place.write(f"data/test_data_set_{i}/output_0.pb", tensor_bytes(np.zeros(1, np.float32)))


def as_raw(place, samples):
    for i, sample in enumerate(samples):
        place.write(f"data/{i:04d}.bin", sample.tobytes())


def as_raw_bytes(place, samples):
    for i, sample in enumerate(samples):
        place.write(f"data/{i:04d}.RAW", sample.astype(np.uint8).tobytes())
    return "calibration: {raw: {dtype: uint8, shape: [3, 8, 8]}}\n"


def as_uint8_npy(place, samples):
    for i, sample in enumerate(samples):
        place.write(f"data/{i:04d}.npy", sample.astype(np.uint8))


def as_fortran_npy(place, samples):
    for i, sample in enumerate(samples):
        place.write(f"data/{i:04d}.npy", np.asfortranarray(sample.astype(">f8")))


def as_images(place, samples):
    for i, sample in enumerate(samples):
        place.write(f"data/{i:04d}.png", png(sample[0].transpose(1, 2, 0)))
    return "preprocess: raw\n"


def as_own_folder(place, samples):
    for i, sample in enumerate(samples):
        place.write(f"data/x/{i:04d}.npy", sample)


def as_one_of_several_kinds(place, samples):
    as_raw(place, [np.zeros(3, np.float32)])
    as_pb(place, samples)
    return "calibration: {reader: pb}\n"


def as_list(place, samples):
    place.write("lists/files/a.npy", samples[0])
    place.write("lists/files/b c.pb", tensor_bytes(samples[1]))
    np.savez(place.path("lists", "files", "d.npz"), x=samples[2])
    place.write("lists/files/e.png", png(samples[3][0].transpose(1, 2, 0)))
    lines = ["# every kind of file", "", "files/a.npy", 'x="files/b c.pb"  # a comment', "  files/d.npz", "'files/e.png'"]
    return f"calibration: {{list: {place.write('lists/list.txt', chr(10).join(lines))}}}\npreprocess: raw\n"


def as_folders_of_classes(place, samples):
    for i, sample in enumerate(samples):
        place.write(f"data/class{9 + i // 2}/{i % 2}.npy", sample)


def as_one_array(place, samples):
    return f"calibration: {{dir: {place.write('all.npy', np.concatenate(samples))}}}\n"


def as_one_archive_of_arrays(place, samples):
    np.savez_compressed(place.path("all.npz"), x=np.concatenate(samples))
    return f"calibration: {{dir: {place.path('all.npz')}}}\n"


def as_tar(kind):
    def write(place, samples):
        as_folders_of_classes(place, samples)
        name = {"w": "all.tar", "w:gz": "all.tar.gz"}[kind]
        with tarfile.open(place.path(name), kind) as archive:
            archive.add(place.path("data"), "photos")
        shutil.rmtree(place.path("data"))
        return f"calibration: {{dir: {place.path(name)}}}\n"
    write.__name__ = "as_tar" if kind == "w" else "as_packed_tar"
    return write


WRITERS = [as_npz, as_npz_of_any_name, as_pb, as_test_data_sets, as_raw, as_raw_bytes, as_uint8_npy, as_fortran_npy, as_images,
           as_own_folder, as_one_of_several_kinds, as_list, as_folders_of_classes, as_one_array, as_one_archive_of_arrays,
           as_tar("w"), as_tar("w:gz")]


@test(cases=[(writer.__name__, writer) for writer in WRITERS])
def same_bytes(case):
    name, writer = case
    with temp_folder() as folder:
        place = Place(folder)
        samples = arrays()
        for i, sample in enumerate(samples):
            place.write(f"npy/{i:04d}.npy", sample)
        wanted = place.quantize(place.path("wanted.onnx"), "--calib", place.path("npy"))
        block = writer(place, samples)
        calib = ["--calib", place.path("data")] if os.path.isdir(place.path("data")) else []
        found = place.quantize(place.path("found.onnx"), *calib, config=place.config(block) if block else "xint8")
        expect_same_file(found, wanted, name)


@test()
def images_in_batches():
    """batch: 3 of a model with a free batch dimension reads what one array of three images holds."""
    with temp_folder() as folder:
        place = Place(folder)
        model = conv_model()
        for info in (model.graph.input[0], model.graph.output[0]):
            info.type.tensor_type.shape.dim[0].dim_param = "N"
        onnx.save(model, place.model)
        samples = arrays(5)
        as_images(place, samples)
        place.write("npy/0.npy", np.concatenate(samples[:3]))
        place.write("npy/1.npy", np.concatenate(samples[3:]))
        wanted = place.quantize(place.path("wanted.onnx"), "--calib", place.path("npy"))
        found = place.quantize(place.path("found.onnx"), "--calib", place.path("data"), config=place.config("preprocess: {batch: 3}\n"))
        expect_same_file(found, wanted, "batch: 3")


@test()
def run_reads_every_form():
    with temp_folder() as folder:
        place = Place(folder)
        model = make_model([helper.make_node("Add", ["a/b:0", "b"], ["s"]), helper.make_node("Relu", ["s"], ["y"])],
                           [("a/b:0", [1, 4]), ("b", [1, 4])], [("y", [1, 4])])
        onnx.save(model, place.model)
        for i in range(3):
            a, b = (np.random.default_rng(10 * i + k).standard_normal((1, 4)).astype(np.float32) for k in range(2))
            place.write(f"npy/a_b_0/s{i}.npy", a)
            place.write(f"npy/b/s{i}.npy", b)
            place.write(f"mixed/a_b_0/s{i}.npy", a)
            place.write(f"mixed/b/s{i}.raw", b.tobytes())
            os.makedirs(place.path("npz"), exist_ok=True)
            np.savez(place.path("npz", f"s{i}.npz"), **{"a_b_0": a, "b": b})
        for form in ("npy", "mixed", "npz"):
            run_model(place.model, place.path(form), place.path("out-" + form))
        for form in ("mixed", "npz"):
            expect_same_bytes(place.path("out-npy"), place.path("out-" + form), form)


# Bad data: (name, words that the message has, function of a Place that makes it and returns settings text and more arguments).

def in_folder(name, content, settings=""):
    def prepare(place):
        if name.endswith(".npy"):
            save_samples(place.path("data"))
        place.write("data/" + name, content() if callable(content) else content)
        return settings, ["--calib", place.path("data")]
    return prepare


def npy_bytes(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def npz_of(method=zipfile.ZIP_STORED, **entries):
    """Makes the bytes of an archive with these entries: arrays, or bytes that claim to be one."""
    def make():
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", method) as archive:
            for name, content in entries.items():
                archive.writestr(name + ".npy", content if isinstance(content, bytes) else npy_bytes(content))
        return buffer.getvalue()
    return make


def damaged_npz():
    data = bytearray(npz_of(x=np.ones(SHAPE, np.float32))())
    data[300] ^= 1
    return bytes(data)


def encrypted_npz():
    data = npz_of(x=np.ones(SHAPE, np.float32))()
    at = data.index(b"PK\1\2")
    return data[:at + 8] + b"\1" + data[at + 9:]


def with_list(text, settings=""):
    def prepare(place):
        as_raw(place, arrays(1))
        place.write("data/0.npy", arrays(1)[0])
        return f"calibration: {{list: {place.write('list.txt', text)}}}\n" + settings, []
    return prepare


def mixed(place):
    place.write("data/a.npy", arrays(1)[0])
    place.write("data/b.bin", b"1234")
    return "", ["--calib", place.path("data")]


def two_kinds_of_classes(place):
    place.write("data/images/a.npy", arrays(1)[0])
    place.write("data/masks/b.bin", arrays(1)[0].tobytes())
    return "", ["--calib", place.path("data")]


def empty_classes(place):
    place.write("data/images/a.txt", "no sample")
    return "", ["--calib", place.path("data")]


def empty(place):
    os.mkdir(place.path("data"))
    return "", ["--calib", place.path("data")]


def broken_symlink(place):
    os.mkdir(place.path("data"))
    os.symlink(place.path("nowhere"), place.path("data", "a.npy"))
    return "", ["--calib", place.path("data")]


def set_without_input(place):
    place.write("data/test_data_set_0/input_0.pb", tensor_bytes(arrays(1)[0]))
    place.write("data/test_data_set_1/output_0.pb", b"")
    return "", ["--calib", place.path("data")]


BOMB = (b"\x93NUMPY\1\0\x76\0" + b"{'descr': '<f4', 'fortran_order': False, 'shape': (50000000,), }".ljust(117) + b"\n")
PIXELS = np.zeros((8, 8, 3), np.uint8)
NAN = np.where(np.arange(192).reshape(SHAPE) == 70, np.nan, 1.0).astype(np.float32)

BLOCK = "preprocess: {scale: 1}\n"
CASES = [
    ("empty folder", ["data", ".npy", ".jpg"], empty),
    ("link to nowhere", ["data", "no samples"], broken_symlink),
    ("only other files", ["data", "no samples"], in_folder("labels.txt", "1 2 3")),
    ("two kinds in folders of classes", ["images/a.npy", "masks/b.bin", "calibration.reader"], two_kinds_of_classes),
    ("empty folders of classes", ["data", "input x", "images"], empty_classes),
    ("mixed kinds", ["a.npy", "b.bin", "calibration.reader"], mixed),
    ("npy: wrong shape", ["0001.npy", "9,9", "8,8"], in_folder("0001.npy", np.zeros((1, 3, 9, 9), np.float32))),
    ("npy: integers that a float would round", ["0001.npy", "16777217"], in_folder("0001.npy", np.full(SHAPE, 16777217))),
    ("npy: NaN", ["0001.npy", "NaN", "[0,1,0,6]", "allow_non_finite"], in_folder("0001.npy", NAN)),
    ("npy: infinity", ["0001.npy", "infinity", "[0,0,0,0]"], in_folder("0001.npy", np.full(SHAPE, np.inf, np.float32))),
    ("npz: text", ["a.npz", "zip"], in_folder("a.npz", "this is no archive")),
    ("npz: truncated", ["a.npz", "truncated"], in_folder("a.npz", lambda: npz_of(x=arrays(1)[0])()[:-30])),
    ("npz: damaged", ["a.npz", "entry x.npy", "checksum"], in_folder("a.npz", damaged_npz)),
    ("npz: encrypted", ["a.npz", "entry x.npy", "encrypted"], in_folder("a.npz", encrypted_npz)),
    ("npz: other compression", ["a.npz", "entry x.npy", "method 12"],
     in_folder("a.npz", npz_of(zipfile.ZIP_BZIP2, x=arrays(1)[0]))),
    ("npz: two arrays of other names", ["a.npz", "input x", "p, q"], in_folder("a.npz", npz_of(p=arrays(1)[0], q=arrays(1)[0]))),
    ("npz: no array", ["a.npz", "none"], in_folder("a.npz", npz_of())),
    ("npz: objects", ["a.npz", "entry x.npy", "object"], in_folder("a.npz", npz_of(x=BOMB.replace(b"'<f4'", b"'|O' ")))),
    ("npz: text as entry", ["a.npz", "entry x.npy", ".npy"], in_folder("a.npz", npz_of(x=b"1, 2, 3, 4, 5"))),
    ("npz: header claims more", ["a.npz", "entry x.npy", "200000128"], in_folder("a.npz", npz_of(x=BOMB + b"1234"))),
    ("npz: bomb", ["a.npz", "entry x.npy", "1000 times"],
     in_folder("a.npz", npz_of(zipfile.ZIP_DEFLATED, x=BOMB + bytes(200000000)))),
    ("npz: wrong shape", ["a.npz", "shape"], in_folder("a.npz", npz_of(x=np.zeros((1, 3, 9, 9), np.float32)))),
    ("pb: text", ["a.pb"], in_folder("a.pb", "this is no tensor")),
    ("pb: truncated", ["a.pb"], in_folder("a.pb", lambda: tensor_bytes(arrays(1)[0])[:-10])),
    ("pb: dims beyond the data", ["a.pb"],
     in_folder("a.pb", lambda: onnx.TensorProto(dims=[1 << 40, 1 << 40], data_type=1, raw_data=b"1234").SerializeToString())),
    ("pb: strings", ["a.pb", "STRING", "FLOAT"],
     in_folder("a.pb", lambda: onnx.TensorProto(dims=[1, 3, 8, 8], data_type=8, string_data=[b"a"] * 192).SerializeToString())),
    ("pb: data in another file", ["a.pb"], in_folder("a.pb", lambda: onnx.TensorProto(
        dims=[192], data_type=1, data_location=1,
        external_data=[onnx.StringStringEntryProto(key="location", value="/etc/passwd")]).SerializeToString())),
    ("test data: a set without input", ["data/test_data_set_1", "input_0.pb"], set_without_input),
    ("raw: too short", ["a.bin", "767 bytes", "768"], in_folder("a.bin", bytes(767))),
    ("raw: other declared size", ["a.data", "768 bytes", "192"],
     in_folder("a.data", bytes(768), "calibration: {raw: {x: {dtype: uint8, shape: [1, 3, 8, 8]}}}\n")),
    ("raw: declared shape does not fit", ["a.raw", "[1,1,192,1]"],
     in_folder("a.raw", bytes(768), "calibration: {raw: {dtype: float32, shape: [1, 192, 1]}}\n")),
    ("image: no recipe", ["a.png", "--preprocess", "imagenet", "yolo-letterbox", "raw"], in_folder("a.png", png(PIXELS))),
    ("image: text", ["a.jpg"], in_folder("a.jpg", "this is no image", BLOCK)),
    ("image: truncated", ["a.png"], in_folder("a.png", png(PIXELS)[:-40], BLOCK)),
    ("image: bomb", ["a.png"], in_folder("a.png", png(PIXELS, claimed=(30000, 30000)), BLOCK)),
    ("image: wrong size", ["a.png", "8"], in_folder("a.png", png(np.zeros((9, 7, 3), np.uint8)), BLOCK)),
    ("image: fewer than a batch", ["data", "preprocess.batch"],
     in_folder("a.png", png(PIXELS), "preprocess: {batch: 2}\n")),
    ("tar: text", ["all.tar", "truncated"], lambda place: (f"calibration: {{dir: {place.write('all.tar', 'text')}}}\n", [])),
    ("tgz: text", ["all.tgz", "gzip"], lambda place: (f"calibration: {{dir: {place.write('all.tgz', 'text')}}}\n", [])),
    ("one file of another kind", ["a.txt", "not a sample file"],
     lambda place: (f"calibration: {{dir: {place.write('a.txt', 'text')}}}\n", [])),
    ("list: not there", ["nothing.txt"], lambda place: (f"calibration: {{list: {place.path('nothing.txt')}}}\n", [])),
    ("list: empty", ["list.txt", "no samples"], with_list("# nothing\n")),
    ("list: missing file", ["list.txt:2", "data/9.npy", "no such file"], with_list("data/0.npy\ndata/9.npy\n")),
    ("list: unknown input", ["list.txt:1", "y=data/0.npy"], with_list("y=data/0.npy\n")),
    ("list: not a sample file", ["list.txt:1", "config.yaml"], with_list("config.yaml\n")),
    ("list: quote without end", ["list.txt:1", "quote"], with_list("'data/0.npy\n")),
    ("list: bytes", ["list.txt:1"], with_list("\x00\x01\x02")),
]


@test(cases=CASES)
def refuses(case):
    _, words, prepare = case
    with temp_folder() as folder:
        place = Place(folder)
        settings, more = prepare(place)
        before = sorted(os.listdir(folder) + ["config.yaml"])
        result = run("quantize", "--config", place.config(settings), "-o", place.path("out.onnx"), "--quiet", *more, place.model)
        message = result.stderr.strip()
        expect(result.returncode == DATA, f"exit code {result.returncode}, expected {DATA}; it said: {message[-1500:]!r}")
        errors = [line for line in message.splitlines() if line.startswith("quarkq: error: ")]
        expect(errors, f"no line starting with 'quarkq: error: ' on stderr, only {message!r}")
        for word in words:
            expect(word.lower() in errors[-1].lower(), f"the message does not name {word!r}: {errors[-1]!r}")
        expect(sorted(os.listdir(folder)) == before, f"left behind: {sorted(set(os.listdir(folder)) - set(before))}")


@test()
def non_finite_values_may_be_allowed():
    with temp_folder() as folder:
        place = Place(folder)
        save_samples(place.path("data"))
        place.write("data/0001.npy", NAN)
        place.quantize(place.path("out.onnx"), "--calib", place.path("data"), config=place.config("calibration: {allow_non_finite: true}\n"))
