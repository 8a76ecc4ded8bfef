# SPDX-License-Identifier: MIT
"""Small files that ask for a machine's whole memory or for years: one maker each, which writes them into a folder and returns the
arguments of a run. BOMBS is the table."""
import gzip
import io
import os
import struct
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from typing import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HUGE = 2 ** 40


@dataclass
class Bomb:
    name: str
    make: Callable  # folder -> arguments
    words: tuple = ()  # all of them stand in the message
    may_run: bool = False  # ending well is right, too: then only time and memory count
    codes: tuple = (2, 3, 4, 7)
    most_mib: int = 2048


def ints(*numbers):
    return np.array(numbers, np.int64)


def save_model(folder, nodes, stored=(), inputs=(("x", [1, 4]),), outputs=("y",), opset=17, **more):
    graph = helper.make_graph(list(nodes), "g", [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in outputs],
                              [numpy_helper.from_array(array, name) for name, array in stored])
    opsets = [helper.make_opsetid("", opset), *more.pop("opsets", [])]
    path = os.path.join(folder, "bomb.onnx")
    with open(path, "wb") as file:
        file.write(helper.make_model(graph, opset_imports=opsets, ir_version=8, **more).SerializeToString())
    calib = os.path.join(folder, "calib")
    os.makedirs(calib, exist_ok=True)
    np.save(os.path.join(calib, "0.npy"), np.ones(inputs[0][1], np.float32))
    return path, calib


def run_of(model, calib):
    return ["run", model, "--inputs", calib, "--outputs", os.path.join(os.path.dirname(model), "results")]


def quantize_of(model, calib, config="a8w8"):
    return ["quantize", model, "-c", config, "--calib", calib, "-o", os.path.join(os.path.dirname(model), "out.onnx")]


def graph_bombs(name, nodes, stored=(), **more):
    """The same graph for the verbs that run, rewrite and look at it."""
    may_run = more.pop("may_run", False)

    def maker(arguments_of):
        return lambda folder: arguments_of(*save_model(folder, nodes, stored, **more))

    def optimize_of(model, _):
        return ["optimize", model, "-o", model + ".out"]
    return [Bomb(f"{name}, run", maker(run_of), may_run=may_run), Bomb(f"{name}, quantize", maker(quantize_of), may_run=may_run),
            Bomb(f"{name}, optimize", maker(optimize_of), may_run=True),
            Bomb(f"{name}, inspect", maker(lambda model, _: ["inspect", model]), may_run=True)]


def node(op, inputs, outputs=("y",), **attributes):
    return helper.make_node(op, list(inputs), list(outputs), **attributes)


FILLED = node("ConstantOfShape", ["shape"], ["c"])
SUM = node("ReduceSum", ["c"], ["s"], keepdims=0)
ADDED = node("Add", ["x", "s"])


def loop_body(more=(), scan=False):
    scalar = helper.make_tensor_value_info
    nodes = [node("Identity", ["go"], ["went"]), node("Relu", ["v"], ["w"]), *more]
    outputs = [scalar("went", TensorProto.BOOL, []), scalar("w", TensorProto.FLOAT, [1, 4])]
    if scan:
        nodes.append(node("Identity", ["v"], ["kept"]))
        outputs.append(scalar("kept", TensorProto.FLOAT, [1, 4]))
    return helper.make_graph(nodes, "body", [scalar("i", TensorProto.INT64, []), scalar("go", TensorProto.BOOL, []), scalar("v", TensorProto.FLOAT, [1, 4])],
                             outputs)


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def raw_model(folder, graph):
    path = os.path.join(folder, "bomb.onnx")
    with open(path, "wb") as file:
        file.write(b"\x08\x08" + field(8, b"\x10\x11") + field(7, graph))
    return path


def text(number, value):
    return field(number, value.encode())


def nested_graphs(depth):
    """An If in a branch of an If, and so on: as bytes, because libraries refuse to nest so deep."""
    def make(folder):
        graph = field(1, text(1, "x") + text(2, "z") + text(4, "Identity")) + field(12, text(1, "z"))
        for _ in range(depth):
            branches = b"".join(field(5, text(1, name) + field(6, graph) + b"\xa0\x01\x05") for name in ("then_branch",))
            graph = field(1, text(1, "flag") + text(2, "z") + text(4, "If") + branches) + field(12, text(1, "z"))
        graph += field(5, b"\x10\x09" + text(8, "flag") + field(9, b"\x01")) + field(11, text(1, "x"))
        return ["inspect", raw_model(folder, graph)]
    return make


def endless_messages(folder):
    """A megabyte of nested messages: attribute, graph, node, attribute, ..."""
    data = b""
    for _ in range(20000):
        data = field(1, field(5, field(6, data)))
    return ["inspect", raw_model(folder, data)]


def many_messages(number, content=b"", count=20_000_000):
    """Each of the messages takes two bytes in the file and hundreds in memory."""
    def make(folder):
        return ["inspect", raw_model(folder, field(number, content) * count)]
    return make


def functions(calls, depth):
    """Function n calls function n-1 `calls` times."""
    def make(folder):
        made = [helper.make_function("bomb", "f0", ["a"], ["b"], [node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 17)])]
        for level in range(1, depth):
            nodes = [helper.make_node(f"f{level - 1}", ["a" if n == 0 else f"t{n}"], ["b" if n + 1 == calls else f"t{n + 1}"], domain="bomb")
                     for n in range(calls)]
            made.append(helper.make_function("bomb", f"f{level}", ["a"], ["b"], nodes, [helper.make_opsetid("", 17), helper.make_opsetid("bomb", 1)]))
        nodes = [helper.make_node(f"f{depth - 1}", ["x"], ["y"], domain="bomb")]
        return quantize_of(*save_model(folder, nodes, functions=made, opsets=[helper.make_opsetid("bomb", 1)]))
    return make


def calling_itself(folder):
    made = helper.make_function("bomb", "f", ["a"], ["b"], [helper.make_node("f", ["a"], ["b"], domain="bomb")],
                                [helper.make_opsetid("", 17), helper.make_opsetid("bomb", 1)])
    return quantize_of(*save_model(folder, [helper.make_node("f", ["x"], ["y"], domain="bomb")], functions=[made], opsets=[helper.make_opsetid("bomb", 1)]))


def declared(dims, raw=b""):
    """An initializer that says it is so large, with data that are not."""
    def make(folder):
        path, calib = save_model(folder, [node("Add", ["x", "w"])], [("w", np.ones(4, np.float32))])
        model = onnx.load(path)
        del model.graph.initializer[0].dims[:]
        model.graph.initializer[0].dims.extend(dims)
        model.graph.initializer[0].raw_data = raw
        with open(path, "wb") as file:
            file.write(model.SerializeToString())
        return quantize_of(path, calib)
    return make


def external(location, prepare=lambda folder: None, dims=(4,), offset=None):
    def make(folder):
        path, calib = save_model(folder, [node("Add", ["x", "w"])], [("w", np.ones(4, np.float32))])
        prepare(folder)
        model = onnx.load(path)
        tensor = model.graph.initializer[0]
        tensor.ClearField("raw_data")
        del tensor.dims[:]
        tensor.dims.extend(dims)
        tensor.data_location = TensorProto.EXTERNAL
        entries = [("location", location), *([("offset", str(offset))] if offset is not None else [])]
        for key, value in entries:
            tensor.external_data.add(key=key, value=value)
        with open(path, "wb") as file:
            file.write(model.SerializeToString())
        return quantize_of(path, calib)
    return make


def linked(target):
    return lambda folder: os.symlink(target, os.path.join(folder, "w.data"))


def sample(name, content):
    """`content` (bytes, or folder -> None) as the only sample of a good model."""
    def make(folder):
        path, calib = save_model(folder, [node("MatMul", ["x", "w"])], [("w", np.eye(4, dtype=np.float32))])
        os.remove(os.path.join(calib, "0.npy"))
        if callable(content):
            content(os.path.join(calib, name))
        else:
            with open(os.path.join(calib, name), "wb") as file:
                file.write(content)
        return quantize_of(path, calib)
    return make


def tokens_and_past(past):
    """Tokens alone for a model whose input of the past holds that many."""
    def make(folder):
        inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", name]) for name in ("input_ids", "attention_mask")]
        inputs.append(helper.make_tensor_value_info("past_key", TensorProto.FLOAT, [1, 1, past, 1]))
        nodes = [node("Gather", ["w", "input_ids"], ["e"]), node("MatMul", ["e", "w"], ["y"]), node("Shape", ["past_key"], ["n"])]
        outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", "length", 4]), helper.make_tensor_value_info("n", TensorProto.INT64, [4])]
        path = os.path.join(folder, "bomb.onnx")
        graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(np.eye(4, dtype=np.float32), "w")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        np.save(os.path.join(folder, "tokens.npy"), ints(1, 2, 3).reshape(1, 3))
        return quantize_of(path, os.path.join(folder, "tokens.npy"))
    return make


def npy_header(shape):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + \
        chunk(b"IDAT", zlib.compress(b"\0" * 100000)) + chunk(b"IEND", b"")


def packed_zeros(count, level):
    """An array of so many zeros: a better level packs them a thousand to one, the first 230 to one and in half the time."""
    def write(path):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive, archive.open("x.npy", "w", force_zip64=True) as member:
            member.write(npy_header(f"({count},)"))
            for _ in range(count >> 22):
                member.write(b"\0" * (1 << 24))
    return write


def holes(count):
    """An array of which the disk holds the header alone."""
    def write(path):
        with open(path, "wb") as file:
            file.write(npy_header(f"({count},)"))
            file.truncate(file.tell() + 4 * count)
    return write


def many_members(path):
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(60000):
            archive.writestr(f"x{number}.npy", b"")


def packed_archive(folder):
    path, _ = save_model(folder, [node("MatMul", ["x", "w"])], [("w", np.eye(4, dtype=np.float32))])
    name = os.path.join(folder, "calib.tar.gz")
    info = tarfile.TarInfo("x.npy")
    info.size = 1 << 29
    with open(name, "wb") as packed:
        packed.write(gzip.compress(info.tobuf() + bytes(info.size)))
    return quantize_of(path, name)


def settings(text):
    def make(folder):
        path, calib = save_model(folder, [node("Relu", ["x"])])
        with open(os.path.join(folder, "s.yaml"), "w", encoding="utf-8") as file:
            file.write(text)
        return quantize_of(path, calib, os.path.join(folder, "s.yaml"))
    return make


def report(text):
    def make(folder):
        with open(os.path.join(folder, "r.json"), "w", encoding="utf-8") as file:
            file.write(text)
        return ["report", os.path.join(folder, "r.json")]
    return make


def aliases():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, 12):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]")
    return "\n".join(lines) + "\n"


def unnamed_pipe(path):
    os.mkfifo(path)


def circle_of_folders(path):
    os.makedirs(path)
    os.symlink("..", os.path.join(path, "up"))


def model_is(make):
    def maker(folder):
        path = os.path.join(folder, "model.onnx")
        make(path)
        return ["inspect", path]
    return maker


def long_name(folder):
    return ["inspect", save_model(folder, [node("Relu", ["x"], name="n" * 30_000_000)])[0]]


def pattern(text, name):
    """A settings file that excludes the nodes whose names match, and a node of this name."""
    def make(folder):
        model, calib = save_model(folder, [helper.make_node("MatMul", ["x", "w"], ["y"], name=name)], [("w", np.ones((4, 4), np.float32))])
        path = os.path.join(folder, "settings.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"preset: A8W8\nexclude: ['{text}']\n")
        return quantize_of(model, calib, path)
    return make


# Aliases of one text count with all of its bytes, whatever stands around them.
LONG_TEXTS = {
    "in a list": 'a: &a "%s"\npreset: XINT8\nexclude: [%s]\n' % ("x" * 100_000, ",".join(["*a"] * 10_000)),
    "as values": 'a: &a "%s"\npreset: XINT8\nextra_options: {%s}\n' % ("x" * 200_000, ", ".join(f"k{n}: *a" for n in range(20_000))),
    "within lists": 'a: &a ["%s"]\nb: &b [%s]\npreset: XINT8\nexclude: [%s]\n' % ("x" * 10_000, ",".join(["*a"] * 100), ",".join(["*b"] * 100)),
    "as keys": 'a: &a "%s"\npreset: XINT8\nexclude: [%s]\n' % ("x" * 100_000, ",".join(["{*a : 1}"] * 1000)),
}


def deep_archive(kind):
    def make(folder):
        model, calib = save_model(folder, [node("Relu", ["x"])])
        path = os.path.join(folder, "deep.tar.gz" if kind == "a packed" else "deep.tar")
        with open(os.path.join(calib, "0.npy"), "rb") as file:
            data = file.read()
        with tarfile.open(path, "w:gz" if kind == "a packed" else "w", format=tarfile.PAX_FORMAT) as archive:
            for number in range(4):
                info = tarfile.TarInfo(f"{number}/" + "a/" * 32000 + "x.npy")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        return run_of(model, path)
    return make


def rewriting(verb, model, calib):
    return ["optimize", model, "-o", model + ".out"] if verb == "optimize" else quantize_of(model, calib)


def joined(count, names_of):
    """Concats of Concats along one axis: what each joins is named by names_of(number)."""
    nodes = [node("Concat", names_of(number), [f"h{number}"], axis=0) for number in range(count)]
    return [*nodes, node("ReduceSum", [f"h{count - 1}"], ["s"], keepdims=0), ADDED]


BOMBS = [
    *graph_bombs("ConstantOfShape", [FILLED, SUM, ADDED], [("shape", ints(HUGE))]),
    Bomb("ConstantOfShape beyond --max-memory, run",
         lambda folder: run_of(*save_model(folder, [FILLED, SUM, ADDED], [("shape", ints(2 ** 30))])) + ["--max-memory", "512M"], ("ConstantOfShape", "allowed"), codes=(7,)),
    Bomb("ConstantOfShape beyond --max-memory, quantize",
         lambda folder: quantize_of(*save_model(folder, [FILLED, SUM, ADDED], [("shape", ints(2 ** 30))])) + ["--max-memory", "256M"],
         ("--max-memory allows 256M",), codes=(7,)),
    *graph_bombs("ConstantOfShape of several axes", [FILLED, SUM, ADDED], [("shape", ints(2 ** 31, 2 ** 31, 4))]),
    *graph_bombs("Expand", [node("Expand", ["x", "shape"], ["c"]), SUM, ADDED], [("shape", ints(2 ** 20, 2 ** 20, 4))]),
    *graph_bombs("Tile", [node("Tile", ["x", "shape"], ["c"]), SUM, ADDED], [("shape", ints(2 ** 30, 2 ** 10))]),
    *graph_bombs("Pad", [node("Pad", ["x", "shape"], ["c"]), SUM, ADDED], [("shape", ints(0, 0, 0, HUGE))]),
    *graph_bombs("Range", [node("Range", ["from", "to", "step"], ["r"]), node("Cast", ["r"], ["c"], to=1), SUM, ADDED],
                 [("from", np.array(0, np.int64)), ("to", np.array(2 ** 60, np.int64)), ("step", np.array(1, np.int64))]),
    *graph_bombs("OneHot", [node("OneHot", ["at", "depth", "values"], ["c"]), SUM, ADDED],
                 [("at", ints(1, 2)), ("depth", np.array(HUGE, np.int64)), ("values", np.array([0, 1], np.float32))]),
    *graph_bombs("Resize by scales", [node("Resize", ["x", "", "scales"], ["c"], mode="nearest"), SUM, ADDED],
                 [("scales", np.array([1e6, 1e6], np.float32))]),
    *graph_bombs("Resize to sizes", [node("Resize", ["x", "", "", "sizes"], ["c"], mode="nearest"), SUM, ADDED], [("sizes", ints(2 ** 20, 2 ** 20))]),
    *graph_bombs("Resize to the longest axes", [node("Resize", ["x", "", "", "sizes"], ["c"], mode="nearest"), SUM, ADDED], [("sizes", ints(2 ** 26, 2 ** 26))]),
    *graph_bombs("Resize of nothing to the longest axis",
                 [node("ConstantOfShape", ["shape"], ["n"]), node("Resize", ["n", "", "", "sizes"], ["c"], mode="cubic"), SUM, ADDED],
                 [("shape", ints(1, 3, 0)), ("sizes", ints(1, 2 ** 26, 0))], may_run=True),
    Bomb("Pad of nothing to the longest axis, optimize",
         lambda folder: ["optimize", save_model(folder, [node("ConstantOfShape", ["shape"], ["n"]), node("Pad", ["n", "pads"], ["c"]), SUM, ADDED],
                                                [("shape", ints(1, 3, 0)), ("pads", ints(0, 2 ** 26 - 4, 0, 0, 0, 0))])[0],
                         "-o", os.path.join(folder, "bomb.onnx.out"), "--max-memory", "256M"], codes=(0,)),
    *graph_bombs("RandomNormal", [node("RandomNormal", [], ["c"], shape=[2 ** 20, 2 ** 20]), SUM, ADDED]),
    *graph_bombs("EyeLike of a large tensor", [FILLED, node("EyeLike", ["c"], ["e"]), node("ReduceSum", ["e"], ["s"], keepdims=0), ADDED],
                 [("shape", ints(2 ** 20, 2 ** 20))]),
    *graph_bombs("outer product", [FILLED, node("Transpose", ["c"], ["t"], perm=[1, 0]), node("MatMul", ["c", "t"], ["m"]),
                                   node("ReduceSum", ["m"], ["s"], keepdims=0), ADDED], [("shape", ints(2 ** 24, 1))]),
    *graph_bombs("Loop without end", [node("Loop", ["n", "", "x"], ["y"], body=loop_body())], [("n", np.array(2 ** 62, np.int64))]),
    *graph_bombs("Loop that keeps everything", [node("Loop", ["n", "", "x"], ["w", "c"], body=loop_body(scan=True)), SUM, ADDED],
                 [("n", np.array(2 ** 62, np.int64))]),
    Bomb("graphs nested too deep", nested_graphs(80), ("nested more than 64",)),
    Bomb("graphs nested 20000 deep", nested_graphs(20000)),
    Bomb("messages without end", endless_messages),
    Bomb("nodes of two bytes", many_messages(1), ("nodes",)),
    Bomb("initializers of two bytes", many_messages(5), ("initializers", "parts")),
    Bomb("types of two bytes", many_messages(13), ("parts",)),
    Bomb("attributes of two bytes", many_messages(1, field(5, b"") * 1000, 20000), ("attributes", "parts")),
    Bomb("inputs of nodes, one byte each", many_messages(1, b"\x0a\x00" * 1000, 20000), ("names",)),
    *[Bomb(f"{count} Concats of all before, {verb}", lambda folder, count=count, verb=verb: rewriting(verb, *save_model(
        folder, joined(count, lambda number: ["x", *(f"h{one}" for one in range(number))]))), may_run=True, most_mib=1024)
      for count in (20, 24) for verb in ("optimize", "quantize")],
    *[Bomb(f"{count} Concats of twice the same, {verb}", lambda folder, count=count, verb=verb: rewriting(verb, *save_model(
        folder, joined(count, lambda number: [f"h{number - 1}" if number else "x"] * 2))), may_run=True, most_mib=1024)
      for count in (20, 60) for verb in ("optimize", "quantize")],
    Bomb("functions that call functions", functions(10, 11), ("nodes once its functions are expanded",)),
    Bomb("a function that calls itself", calling_itself, ("calls itself",)),
    Bomb("a name of megabytes", long_name, may_run=True),
    Bomb("a tensor that is not there", declared([2 ** 40])),
    Bomb("more elements than there are numbers", declared([2 ** 32, 2 ** 32])),
    Bomb("negative dimensions", declared([-4])),
    Bomb("data outside of the folder", external("../secret")),
    Bomb("data by an absolute path", external("/etc/passwd")),
    Bomb("data by a link", external("w.data", linked("/etc/passwd"))),
    Bomb("data of a device", external("w.data", linked("/dev/zero"))),
    Bomb("data of a pipe", external("w.data", lambda folder: os.mkfifo(os.path.join(folder, "w.data")))),
    Bomb("data beyond the end", external("w.data", lambda folder: open(os.path.join(folder, "w.data"), "wb").close(), dims=(HUGE,))),
    Bomb("data at a huge offset", external("w.data", lambda folder: open(os.path.join(folder, "w.data"), "wb").close(), offset=2 ** 63 - 1)),
    Bomb("a model that is a device", model_is(lambda path: os.symlink("/dev/zero", path))),
    Bomb("a model that is a pipe", model_is(os.mkfifo)),
    Bomb("an image of 65535 x 65535", sample("0.png", png(65535, 65535))),
    Bomb("an image of 2^31 columns", sample("0.png", png(2 ** 31 - 1, 1))),
    Bomb("an array of 2^50 elements", sample("0.npy", npy_header(f"({2 ** 50},)"))),
    Bomb("an array of 2^63 and 4 elements", sample("0.npy", npy_header(f"({2 ** 62}, 4)"))),
    Bomb("tokens beside a past of 2^40", tokens_and_past(2 ** 40), ("input attention_mask", "more than this machine has"), codes=(7,)),
    Bomb("tokens beside a past of 2^63 - 1", tokens_and_past(2 ** 63 - 1), ("input past_key",), codes=(7,)),
    Bomb("an array of holes", sample("0.npy", holes(2 ** 31)), ("shape [1,2147483648], input x takes [1,4]",), codes=(4,)),
    Bomb("an archive of zeros", sample("0.npz", packed_zeros(2 ** 26, level=9)), ("allowed is 1000 times",), codes=(4,)),
    Bomb("an archive of zeros for no input", sample("0.npz", packed_zeros(3 << 27, level=1)), ("shape [1,402653184], input x takes [1,4]",), codes=(4,)),
    Bomb("an archive of 60000 members", sample("0.npz", many_members)),
    Bomb("a packed archive of zeros", packed_archive, ("contain more than 100 times as much",), codes=(4,)),
    *[Bomb(f"{kind} archive with a member in 32000 folders", deep_archive(kind), ("which no sample has",), codes=(4,), most_mib=200)
      for kind in ("a packed", "a plain")],
    Bomb("a sample that is a pipe", sample("0.npy", unnamed_pipe)),
    Bomb("folders in a circle", sample("in", circle_of_folders)),
    Bomb("aliases of aliases", settings(aliases())),
    *[Bomb(f"aliases of a long text, {what}", settings(text), ("aliases repeat more than",), codes=(2,), most_mib=200) for what, text in LONG_TEXTS.items()],
    Bomb("lists in lists", settings("a: " + "[" * 100000 + "]" * 100000)),
    Bomb("maps in maps", settings("a: " + "{a: " * 100000 + "1" + "}" * 100000)),
    Bomb("indented maps", settings("".join(" " * level + "a:\n" for level in range(3000)))),
    Bomb("a pattern that repeats what repeats", pattern("^(a*)*b.*", "a" * 60), ("no node matches",)),
    Bomb("a pattern on a name of 300000 letters", pattern("^a.*b", "a" * 300000), ("no node matches",)),
    Bomb("a pattern of groups in groups", pattern("^" + "(" * 100000 + "a" + ")" * 100000 + ".*", "a"), ("has 200004 bytes",)),
    Bomb("a pattern of repeated repetitions", pattern("^((a?){100}){300}.*", "a" * 60), ("malformed",)),
    Bomb("a report of lists in lists", report("[" * 5_000_000)),
    Bomb("a report of maps in maps", report('{"a":' * 1_000_000 + "1" + "}" * 1_000_000)),
]
