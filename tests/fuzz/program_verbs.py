# SPDX-License-Identifier: MIT
"""Mutated inputs of the verbs that work on finished models, results and reports: convert, import, tune, evaluate, report. They run as programs."""
import json
import os
import re
import resource
import subprocess

import hostile_graphs
import numpy as np
import onnx
import quarkq
from onnx import numpy_helper

BINARY = os.environ.get("QUARKQ", os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "build/release/quarkq"))
PRESETS = ("a8w8", "xint8", "a16w8", "bf16", "bfp16", "matmul_nbits", "fp16")
TARGETS = ("ort-cpu", "x1", "x2", "gen2-vint8", "gen2-bf16", "vaiml-bf16", "winml")
GIVEN = {"version": "version=21", "shapes": "shapes=input:[1,2,3,4]", "folder": "folder=histograms",
         "updates": "updates=[{node_name: n0, attributes: {axis: 7, perm: [5, 1], kernel_shape: [99]}}]"}  # options without a default
SMALL_CHANGES = [None, True, -1, 0, 1, 1e308, -1e-320, "", "\u0000\u001b[2J", "<script>", [], {}, [[]], 2 ** 63, 10 ** 30, "x" * 5000]
CACHE = {}


def conversions():
    """What --pass takes, each name with the values that it needs."""
    if "conversions" not in CACHE:
        rows = json.loads(subprocess.run([BINARY, "list", "conversions", "--json"], capture_output=True, text=True, check=True).stdout)
        needed = {row["name"]: [GIVEN[one.strip()] for one in row["options"].split(",") if one.strip() in GIVEN] for row in rows}
        CACHE["conversions"] = [f"{name}:{','.join(values)}" if values else name for name, values in needed.items()]
    return CACHE["conversions"]


def quantized(draw):
    """A valid model, quantized, with a few attributes, scales, zero points and dims changed then; None where nothing is quantized."""
    seed = draw.choice(sorted(hostile_graphs.SEEDS))
    preset = draw.choice(PRESETS)
    if (seed, preset) not in CACHE:
        try:
            CACHE[seed, preset] = bytes(quarkq.quantize(hostile_graphs.build(seed, "known").SerializeToString(), config=preset,
                                                        settings=["UseRandomData=true"], threads=1).model)
        except quarkq.QuarkqError:
            CACHE[seed, preset] = b""
    if not CACHE[seed, preset]:
        return None
    model = onnx.load_from_string(CACHE[seed, preset])
    for _ in range(draw.choice([0, 1, 1, 2, 3])):
        try:
            change(model, draw)
        except (TypeError, ValueError):
            break  # a tensor that an earlier change made unreadable for the onnx package
    return model


def change(model, draw):
    """One attribute, stored value, dim, element type or link of a written model."""
    kind = draw.randrange(5)
    attributes = [(at, k) for at, node in enumerate(model.graph.node) for k, one in enumerate(node.attribute)
                  if one.type in (onnx.AttributeProto.INT, onnx.AttributeProto.INTS)]
    stored = list(model.graph.initializer)
    if kind == 0 and attributes:
        hostile_graphs.change(model, draw.choice(attributes), draw)
    elif kind == 1 and stored:
        tensor = draw.choice(stored)
        values = numpy_helper.to_array(tensor).copy()
        if values.size and values.dtype.kind in "fiu":
            values.reshape(-1)[draw.randrange(values.size)] = draw.choice([0, 1, np.inf, -np.inf, np.nan, 1e-45, 3e38] if values.dtype.kind == "f" else [0, 1, 127])
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    elif kind == 2 and stored:
        tensor = draw.choice(stored)
        if tensor.dims:
            tensor.dims[draw.randrange(len(tensor.dims))] = draw.choice(hostile_graphs.SMALL + hostile_graphs.HUGE)
        else:
            tensor.dims.append(draw.choice([0, 1, 2, -1]))
    elif kind == 3 and stored:
        draw.choice(stored).data_type = draw.randrange(24)
    else:
        node = draw.choice(list(model.graph.node))
        names = [name for other in model.graph.node for name in (*other.input, *other.output)] + [""]
        if node.input:
            node.input[draw.randrange(len(node.input))] = draw.choice(names)


def finished(draw, folder, name, draw_float):
    """Writes a quantized model or a float one; returns (path, its bytes)."""
    model = quantized(draw) if draw.random() < 0.7 else None
    content = (model or draw_float(draw)[0]).SerializeToString()
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(content)
    return path, content


def samples(draw, folder, feeds):
    """One folder of two samples for these inputs."""
    place = os.path.join(folder, "samples")
    os.makedirs(place, exist_ok=True)
    for number in range(2):
        for name, array in feeds.items():
            inner = place if len(feeds) == 1 else os.path.join(place, re.sub("[/:]", "_", name))
            os.makedirs(inner, exist_ok=True)
            np.save(os.path.join(inner, f"{number}.npy"), array)
    return place


def convert(draw, folder, draw_float):
    path, content = finished(draw, folder, "m.onnx", draw_float)
    steps = [word for one in draw.sample(conversions(), draw.choice([1, 1, 2, 3])) for word in ("--pass", one)]
    written = os.path.join(folder, draw.choice(["o.onnx", "o.onnx", "o.onnx", "o.onnxtxt"]))
    return ["convert", path, "-o", written, *steps], content, written if written.endswith(".onnx") else None


def import_model(draw, folder, draw_float):
    path, content = finished(draw, folder, "m.onnx", draw_float)
    written = os.path.join(folder, "o.onnx")
    return ["import", path, "-o", written, "--target", draw.choice(TARGETS), *(["--float"] if draw.random() < 0.2 else [])], content, written


def tune(draw, folder, draw_float):
    model, feeds = draw_float(draw)
    path, written = os.path.join(folder, "m.onnx"), os.path.join(folder, "o.onnx")
    content = model.SerializeToString()
    with open(path, "wb") as file:
        file.write(content)
    place = samples(draw, folder, feeds)
    return ["tune", path, "-c", draw.choice(["a8w8", "xint8"]), "--calib", place, "--eval", place, "--metric", "cosine", "--goal", "value>=0.5", "--time", "1s",
            "-o", written], content, written


def evaluate(draw, folder, draw_float):
    model, feeds = draw_float(draw)
    path = os.path.join(folder, "m.onnx")
    onnx.save(model, path)
    other, _ = finished(draw, folder, "q.onnx", draw_float) if draw.random() < 0.8 else (path, b"")
    more = [["--layers"], ["--layers-csv", os.path.join(folder, "l.csv")], ["--metric", "cosine"], []]
    return ["evaluate", "--float", path, "--quantized", other, "--data", samples(draw, folder, feeds), *draw.choice(more)], None, None


def report_of_a_run():
    if "report" not in CACHE:
        import tempfile
        with tempfile.TemporaryDirectory(prefix="quarkq-report-") as folder:
            path, page = os.path.join(folder, "m.onnx"), os.path.join(folder, "r.json")
            onnx.save(hostile_graphs.build("depthwise", "known"), path)
            calib = samples(None, folder, {"input": hostile_graphs.floats(1, 4, 8, 8)})
            subprocess.run([BINARY, "quantize", path, "-c", "a8w8", "--calib", calib, "-o", os.path.join(folder, "q.onnx"), "--report", page, "-q"], check=True,
                           stderr=subprocess.DEVNULL)
            with open(page, encoding="utf-8") as file:
                CACHE["report"] = file.read()
    return json.loads(CACHE["report"])


def change_value(value, draw):
    """One place of a JSON value, at any depth."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = draw.choice(keys)
        if isinstance(value[key], (dict, list)) and value[key] and draw.random() < 0.85:
            value = value[key]
            continue
        if draw.random() < 0.2:
            del value[key]
        elif isinstance(value[key], list) and draw.random() < 0.3:
            value[key] = value[key] * draw.choice([2, 50])
        else:
            value[key] = draw.choice(SMALL_CHANGES)
        return


def report(draw, folder, _):
    value = report_of_a_run()
    for _ in range(draw.choice([1, 1, 2, 5])):
        change_value(value, draw)
    path = os.path.join(folder, "r.json")
    text = json.dumps(value)
    if draw.random() < 0.1:
        text = text[:draw.randrange(len(text))]
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return ["report", path, "-o", os.path.join(folder, "p.html")], None, None


VERBS = {"convert": convert, "import": import_model, "tune": tune, "evaluate": evaluate, "report": report}


def run(arguments, folder, seconds):
    """(exit code, message) of the program; a negative code is a signal, SIGXCPU stands for too long a run."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    done = subprocess.run([BINARY, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
                          check=False, preexec_fn=limit, cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1"})
    return done.returncode, " ".join(done.stderr.split())[-300:]
