# SPDX-License-Identifier: MIT
"""Bad input: each case gets its exit code and a message that names file and cause; no output file, no temporary, no crash.

A case prepares its files in a fresh folder and returns the arguments to try. Codes: design.md section 2.
"""
import os
import resource
import shutil
import signal
import subprocess
from dataclasses import dataclass
from typing import Callable

import numpy as np
import onnx
from onnx import helper

from harness import Skip, expect, expect_equal, run, temp_folder, test
from reference import conv_model, make_model, save_samples

USAGE, MODEL, DATA, FAILED, TOO_LARGE = 2, 3, 4, 1, 7


class Place:
    """A folder with a good model and good samples, to be spoiled by a case."""

    def __init__(self, folder):
        self.folder = folder
        self.model = self.path("model.onnx")
        onnx.save(conv_model(), self.model)
        self.calib = save_samples(self.path("calib"))
        self.output = self.path("out.onnx")

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def quantize(self, *more, model=None, calib=None, output=None, config="xint8"):
        return ["quantize", "--config", config, "--calib", calib or self.calib, "-o", output or self.output, *more, model or self.model]

    def run(self, model=None, inputs=None):
        return ["run", model or self.model, "--inputs", inputs or self.calib, "--outputs", self.path("results")]

    def spoil(self, name, content):
        """Writes `content` and returns the path."""
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def bytes_of(self, path):
        with open(path, "rb") as file:
            return file.read()


@dataclass
class Bad:
    name: str
    code: int
    words: list  # all of these stand in the message, in any case
    arguments: Callable[[Place], list]
    options: Callable[[Place], dict] = lambda place: {}


def content(data, verb="quantize"):
    """Arguments for a model file with these bytes, made from the good model's."""
    def prepare(place):
        path = place.spoil("bad.onnx", data(place.bytes_of(place.model)))
        return place.quantize(model=path) if verb == "quantize" else place.run(model=path)
    return prepare


def sample(array=None, data=None, verb="quantize"):
    """Arguments for a sample folder whose second file is this array, or these bytes made from a good file's."""
    def prepare(place):
        path = place.path("calib", "0001.npy")
        if data is not None:
            place.spoil("calib/0001.npy", data(place.bytes_of(path)))
        else:
            np.save(path, array(), allow_pickle=True)
        return place.quantize() if verb == "quantize" else place.run()
    return prepare


def two_inputs(place):
    """A model with inputs a and b; returns its path."""
    model = make_model([helper.make_node("Add", ["a", "b"], ["s"]), helper.make_node("Relu", ["s"], ["y"])],
                       [("a", [1, 4]), ("b", [1, 4])], [("y", [1, 4])])
    path = place.path("two.onnx")
    onnx.save(model, path)
    return path


def wrong_folder(place):
    model = two_inputs(place)
    save_samples(place.path("in", "a"), shape=(1, 4))
    save_samples(place.path("in", "bb"), shape=(1, 4))
    return place.quantize(model=model, calib=place.path("in"))


def unpaired(place):
    model = two_inputs(place)
    save_samples(place.path("in", "a"), count=3, shape=(1, 4))
    save_samples(place.path("in", "b"), count=2, shape=(1, 4))
    return place.quantize(model=model, calib=place.path("in"))


def empty_folder(place):
    os.mkdir(place.path("empty"))
    return place.quantize(calib=place.path("empty"))


def no_external_data(place):
    model = conv_model()
    onnx.save_model(model, place.path("ext.onnx"), save_as_external_data=True, location="ext.data", size_threshold=0)
    os.remove(place.path("ext.data"))
    return place.quantize(model=place.path("ext.onnx"))


def escaping_external_data(place):
    model = conv_model()
    place.spoil("secret.data", bytes(4096))
    os.mkdir(place.path("inner"))
    onnx.save_model(model, place.path("inner", "ext.onnx"), save_as_external_data=True, location="ext.data", size_threshold=0)
    proto = onnx.load(place.path("inner", "ext.onnx"), load_external_data=False)
    for tensor in proto.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = "../secret.data"
    with open(place.path("inner", "ext.onnx"), "wb") as file:
        file.write(proto.SerializeToString())
    return place.quantize(model=place.path("inner", "ext.onnx"))


def unknown_operator(place):
    model = conv_model()
    model.graph.node[1].op_type = "Reluu"
    onnx.save(model, place.path("bad.onnx"))
    return place.quantize(model=place.path("bad.onnx"))


def cycle(place):
    model = conv_model()
    model.graph.node[0].input[0] = "y"
    with open(place.path("bad.onnx"), "wb") as file:
        file.write(model.SerializeToString())
    return place.quantize(model=place.path("bad.onnx"))


def wrong_weight_size(place):
    model = conv_model()
    model.graph.initializer[0].raw_data = model.graph.initializer[0].raw_data[:-4]
    with open(place.path("bad.onnx"), "wb") as file:
        file.write(model.SerializeToString())
    return place.quantize(model=place.path("bad.onnx"))


def mount(place, name, options):
    """Mounts a file system in memory there; cleanup() takes it away again."""
    os.mkdir(place.path(name))
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place.path(name)], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise Skip(f"cannot mount a file system here: {made.stderr.strip() or 'refused'}")


def read_only_folder(place):
    """A folder without write permission; for root, who may write everywhere, a file system mounted read-only."""
    if os.geteuid() == 0:
        mount(place, "locked", "ro,size=4k")
    else:
        os.mkdir(place.path("locked"))
        os.chmod(place.path("locked"), 0o555)
    return place.quantize(output=place.path("locked", "out.onnx"))


def on_tiny_disk(place):
    """A file system of 4 KB, which the result does not fit in."""
    wide = make_model([helper.make_node("Conv", ["x", "w"], ["y"], name="conv", pads=[1, 1, 1, 1])], [("x", [1, 3, 8, 8])],
                      [("y", [1, 512, 8, 8])],
                      [onnx.numpy_helper.from_array(np.random.default_rng(1).standard_normal((512, 3, 3, 3)).astype(np.float32), "w")])
    onnx.save(wide, place.path("wide.onnx"))
    mount(place, "disk", "size=4k")
    return place.quantize(model=place.path("wide.onnx"), output=place.path("disk", "out.onnx"))


def limit_file_size():
    """In the child: no file may grow beyond 512 bytes; write() then fails as it does on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))


def evaluate_folders(second):
    def prepare(place):
        save_samples(place.path("base"), shape=(1, 10))
        second(place)
        return ["evaluate", "--baseline_results_folder", place.path("base"), "--quantized_results_folder", place.path("other")]
    return prepare


def cut_header(data):
    return data[:30]


# What each verb needs beside a model that is not there.
def gemm_that_cannot_run(verb, *more, hidden=True):
    """[2, 6] times [4, 6]. Hidden: after a Reshape whose shape is computed, so that the onnx library cannot know it when it reads the model."""
    def prepare(place):
        shape = [helper.make_node("Shape", ["x"], ["s0"]), helper.make_node("Cast", ["s0"], ["s1"], to=onnx.TensorProto.FLOAT),
                 helper.make_node("Mul", ["s1", "one"], ["s2"]), helper.make_node("Cast", ["s2"], ["s3"], to=onnx.TensorProto.INT64),
                 helper.make_node("Reshape", ["x", "s3"], ["r"])]
        nodes = [*(shape if hidden else []), helper.make_node("Gemm", ["r" if hidden else "x", "w"], ["g"], name="mismatched"),
                 helper.make_node("Reshape", ["g", "flat"], ["y"])]
        stored = {"w": np.ones((4, 6), np.float32), "one": np.array(1, np.float32), "flat": np.array([-1], np.int64)}
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 6])],
                                  [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n"])],
                                  [onnx.numpy_helper.from_array(array, name) for name, array in stored.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), place.path("bad.onnx"))
        return [verb, place.path("bad.onnx"), *(place.path("out.onnx") if one == "OUT" else one for one in more)]
    return prepare


WITHOUT_MODEL = {
    "inspect": [], "check": [], "check --target": ["--target", "gen2-bf16"], "optimize": ["-o", "o.onnx"], "import": ["-o", "o.onnx"],
    "convert": ["o.onnx", "--pass", "dequantize"], "calibrate": ["-c", "a8w8", "--set", "UseRandomData=true", "-o", "o.stats"],
    "analyze": ["-c", "a8w8", "--set", "UseRandomData=true"], "tune": ["-c", "a8w8", "--calib", "CALIB", "--eval", "CALIB", "--metric", "top1", "--labels", "CALIB"],
    "evaluate": ["--quantized", "MODEL", "--data", "CALIB"],
}


def verb_without_model(verb):
    def prepare(place):
        places = {"CALIB": place.calib, "MODEL": place.model, "o.onnx": place.path("o.onnx"), "o.stats": place.path("o.stats")}
        model = ["--float", place.path("nowhere.onnx")] if verb == "evaluate" else [place.path("nowhere.onnx")]
        return [verb.split()[0], *model, *(places.get(one, one) for one in WITHOUT_MODEL[verb])]
    return prepare


CASES = [
    # the model
    *(Bad(f"{verb}: missing model", USAGE, ["nowhere.onnx", "no such file"], verb_without_model(verb)) for verb in WITHOUT_MODEL),
    Bad("missing model", USAGE, ["nowhere.onnx", "no such file"], lambda p: p.quantize(model=p.path("nowhere.onnx"))),
    Bad("folder as model", USAGE, ["calib", "folder"], lambda p: p.quantize(model=p.calib)),
    Bad("empty model", MODEL, ["bad.onnx", "empty"], content(lambda good: b"")),
    Bad("truncated model", MODEL, ["bad.onnx", "truncated"], content(lambda good: good[:len(good) // 2])),
    Bad("model without its last byte", MODEL, ["bad.onnx", "truncated"], content(lambda good: good[:-1])),
    Bad("text as model", MODEL, ["bad.onnx", "text"], content(lambda good: b"this is a text file, not a model\n" * 20)),
    Bad("random bytes as model", MODEL, ["bad.onnx"], content(lambda good: np.random.default_rng(0).bytes(2000))),
    Bad("run: truncated model", MODEL, ["bad.onnx", "truncated"], content(lambda good: good[:len(good) // 2], "run")),
    Bad("run: missing model", USAGE, ["nowhere.onnx", "no such file"], lambda p: p.run(model=p.path("nowhere.onnx"))),
    Bad("unknown operator", MODEL, ["bad.onnx", "Reluu"], unknown_operator),
    Bad("graph with a cycle", MODEL, ["bad.onnx", "cycle"], cycle),
    Bad("weight shorter than its shape", MODEL, ["bad.onnx", "w"], wrong_weight_size),
    *(Bad(f"{verb} {' '.join(more)}: shapes that cannot run", MODEL, ["bad.onnx", "mismatched", "Gemm", "[2,6]", "[4,6]"], gemm_that_cannot_run(verb, *more, "-o", "OUT"))
      for verb, *more in (["optimize"], ["quantize", "-c", "a8w8", "--set", "UseRandomData=true"], ["quantize", "-c", "bfp16"], ["quantize", "-c", "bf16"])),
    Bad("quantize matmul_nbits: shapes that cannot run", MODEL, ["bad.onnx", "mismatched", "[2,6]", "K is 4"], gemm_that_cannot_run("quantize", "-c", "matmul_nbits", "-o", "OUT")),
    Bad("convert: shapes that cannot run", MODEL, ["bad.onnx", "mismatched", "[2,6]"],
        gemm_that_cannot_run("convert", "-o", "OUT", "--pass", "dequantize", hidden=False)),
    Bad("external data missing", MODEL, ["ext.data"], no_external_data),
    Bad("external data outside the folder", MODEL, ["secret.data"], escaping_external_data),
    # usage
    Bad("no arguments", USAGE, [], lambda p: []),
    Bad("unknown verb", USAGE, ["quantise", "quantize"], lambda p: ["quantise", p.model]),
    Bad("unknown preset", USAGE, ["xint9", "xint8"], lambda p: p.quantize(config="xint9")),
    Bad("unknown setting", USAGE, ["CalibMovingAverag", "CalibMovingAverage"], lambda p: p.quantize("--set", "CalibMovingAverag=true")),
    Bad("setting of the wrong type", USAGE, ["CalibMovingAverage"], lambda p: p.quantize("--set", "CalibMovingAverage=perhaps")),
    Bad("unknown option", USAGE, ["--calibb"], lambda p: p.quantize("--calibb", "x")),
    Bad("settings file that is not YAML", USAGE, ["bad.yaml"], lambda p: p.quantize(config=p.spoil("bad.yaml", b"a: [1, 2\nb: }\n"))),
    Bad("settings file with an unknown key", USAGE, ["bad.yaml", "activation_typ", "activation_type"],
        lambda p: p.quantize(config=p.spoil("bad.yaml", b"quant_config:\n  activation_typ: QuantType.QInt8\n"))),
    Bad("threads below zero", USAGE, ["--threads"], lambda p: p.quantize("--threads", "-3")),
    Bad("no samples to verify on", USAGE, ["quarkq.verify_samples"], lambda p: p.quantize("--set", "quarkq.verify_samples=0")),
    Bad("--eval that nothing reads", USAGE, ["--eval", "--no-verify"], lambda p: p.quantize("--eval", p.calib, "--no-verify")),
    Bad("output equals input", USAGE, ["model.onnx"], lambda p: p.quantize(output=p.model)),
    # calibration and input data
    Bad("no calibration folder", DATA, ["nothing"], lambda p: p.quantize(calib=p.path("nothing"))),
    Bad("no evaluation folder", DATA, ["nothing"], lambda p: p.quantize("--eval", p.path("nothing"))),
    Bad("calibration folder is a file", DATA, ["model.onnx"], lambda p: p.quantize(calib=p.model)),
    Bad("empty calibration folder", DATA, ["empty", ".npy"], empty_folder),
    Bad("input folder with a wrong name", DATA, ["input b", "bb"], wrong_folder),
    Bad("samples that have no partner", DATA, ["0002.npy"], unpaired),
    Bad("wrong shape", DATA, ["0001.npy", "8", "9"], sample(lambda: np.zeros((1, 3, 9, 9), np.float32))),
    Bad("wrong rank", DATA, ["0001.npy"], sample(lambda: np.zeros((8, 8), np.float32))),
    Bad("wrong dtype: text", DATA, ["0001.npy"], sample(lambda: np.full((1, 3, 8, 8), "a"))),
    Bad("wrong dtype: complex", DATA, ["0001.npy"], sample(lambda: np.zeros((1, 3, 8, 8), np.complex64))),
    Bad("object array", DATA, ["0001.npy", "object"], sample(lambda: np.array([[1], "x"], dtype=object))),
    Bad("truncated npy data", DATA, ["0001.npy", "bytes"], sample(data=lambda good: good[:-100])),
    Bad("truncated npy header", DATA, ["0001.npy", "truncated"], sample(data=cut_header)),
    Bad("empty npy", DATA, ["0001.npy"], sample(data=lambda good: b"")),
    Bad("text as npy", DATA, ["0001.npy", ".npy"], sample(data=lambda good: b"1, 2, 3\n")),
    Bad("npy with a huge shape", DATA, ["0001.npy"], sample(data=lambda good: good.replace(b"(1, 3, 8, 8)", b"(99999999,9)"))),
    Bad("run: wrong shape", DATA, ["0001.npy"], sample(lambda: np.zeros((1, 3, 9, 9), np.float32), verb="run")),
    Bad("run: missing input folder", DATA, ["nothing"], lambda p: p.run(inputs=p.path("nothing"))),
    # results
    Bad("evaluate: missing folder", DATA, ["other"], evaluate_folders(lambda p: None)),
    Bad("evaluate: missing file", DATA, ["0002.npy"], evaluate_folders(lambda p: save_samples(p.path("other"), count=2, shape=(1, 10)))),
    Bad("evaluate: other shape", DATA, ["0000.npy"], evaluate_folders(lambda p: save_samples(p.path("other"), shape=(1, 11)))),
    # writing
    Bad("output below a file", FAILED, ["out.onnx"], lambda p: p.quantize(output=p.path("model.onnx", "out.onnx"))),
    Bad("output in a missing folder", FAILED, ["out.onnx"], lambda p: p.quantize(output=p.path("nothing", "out.onnx"))),
    Bad("output is a folder", USAGE, ["calib"], lambda p: p.quantize(output=p.calib)),
    Bad("output in a read-only folder", FAILED, ["out.onnx"], read_only_folder),
    Bad("full disk", FAILED, ["out.onnx", "space"], on_tiny_disk),
    Bad("file size limit", FAILED, ["out.onnx"], lambda p: p.quantize(), lambda p: {"preexec_fn": limit_file_size, "restore_signals": False}),
    Bad("more memory than allowed", TOO_LARGE, ["running the model needs", "allowed are 100"],
        lambda p: p.run() + ["--max-memory", "100"]),
    Bad("report below a file", FAILED, ["report.json"], lambda p: p.quantize("--report", p.path("model.onnx", "report.json"))),
]


def snapshot(folder):
    """{path: content}; folders have None."""
    found = {}
    for parent, folders, files in os.walk(folder):
        found.update({os.path.relpath(os.path.join(parent, name), folder): None for name in folders})
        for name in files:
            with open(os.path.join(parent, name), "rb") as file:
                found[os.path.relpath(os.path.join(parent, name), folder)] = file.read()
    return found


def cleanup(place):
    for name in ("disk", "locked"):
        if os.path.ismount(place.path(name)):
            subprocess.run(["umount", place.path(name)], check=False)
    if os.path.isdir(place.path("locked")):
        os.chmod(place.path("locked"), 0o755)


@test(cases=CASES)
def refuses(case):
    with temp_folder() as folder:
        place = Place(folder)
        try:
            arguments = case.arguments(place)
            before = snapshot(folder)
            takes_json = arguments and arguments[0] in ("quantize", "run")
            result = run(*arguments, *(["--json"] if takes_json else []), **case.options(place))
            after = snapshot(folder)
        finally:
            cleanup(place)
    message = result.stderr.strip()
    expect(result.returncode >= 0, f"crashed with signal {-result.returncode}: {message[-1500:]}")
    expect(result.returncode == case.code, f"exit code {result.returncode}, expected {case.code}; it said: {message[-1500:]!r}")
    errors = [line for line in message.splitlines() if line.startswith("quarkq: error: ")]
    expect(errors, f"no line starting with 'quarkq: error: ' on stderr, only {message!r}")
    for word in case.words:
        expect(word.lower() in errors[-1].lower(), f"the message does not name {word!r}: {errors[-1]!r}")
    expect_equal(result.stdout, "", "stdout")
    after.pop("results", None)  # `run` may have made its folder, and written what came before the bad sample
    after = {name: data for name, data in after.items() if not name.startswith("results" + os.sep)}
    new = sorted(name for name in after if name not in before)
    changed = sorted(name for name in before if after.get(name, b"") != before[name])
    expect(not new, f"left behind: {new}")
    expect(not changed, f"changed: {changed}")
