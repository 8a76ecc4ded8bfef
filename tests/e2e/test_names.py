# SPDX-License-Identifier: MIT
"""Names print no lines of their own: node, tensor, graph, operator, domain and file names, what settings and state hold. They are escaped
where they enter a sentence, so that no line of a log, a summary or a table begins as a stranger wants it."""
import csv
import json
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import harness
from harness import expect, expect_equal, quarkq, run, temp_folder, test
from reference import DIGITS

FORGED = ["::error title=quarkq::forged", "verdict    good: forged", "quarkq: forged", "section_start:forged"]
TURNED = "\u202e\u2066\u2028\u2029\u0085"
EVIL = "evil\n" + "\n".join(FORGED) + "\r" + FORGED[0] + "\ttab" + TURNED
SHORT = "f\n::error::forged\u202e"  # for names of files


def weights(*shape):
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def evil_model(folder):
    name = lambda part: part + EVIL
    nodes = [helper.make_node("Conv", [name("x"), name("w")], [name("c")], name=name("conv")), helper.make_node("Relu", [name("c")], [name("r")], name=name("relu")),
             helper.make_node("Identity", [name("r")], [name("i")], name=name("identity")), helper.make_node("Sigmoid", [name("i")], [name("y")], name=name("end"))]
    graph = helper.make_graph(nodes, name("graph"), [helper.make_tensor_value_info(name("x"), TensorProto.FLOAT, ["N" + EVIL, 1, 8, 8])],
                              [helper.make_tensor_value_info(name("y"), TensorProto.FLOAT, ["N" + EVIL, 4, 6, 6])], [numpy_helper.from_array(weights(4, 1, 3, 3), name("w"))])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("domain" + EVIL, 1)], ir_version=8,
                              producer_name=name("producer"))
    path = os.path.join(folder, SHORT + "m.onnx")
    onnx.save(model, path)
    calib = os.path.join(folder, SHORT + "calib")
    os.mkdir(calib)
    for number in range(2):
        np.save(os.path.join(calib, f"{SHORT}{number}.npy"), np.random.default_rng(number).random((1, 1, 8, 8), np.float32))
    return path, calib


def unknown_operator(folder):
    graph = helper.make_graph([helper.make_node("Op" + EVIL, ["x"], ["y"], domain="domain" + EVIL, name="n" + EVIL)], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])])
    path = os.path.join(folder, "unknown.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("domain" + EVIL, 1)], ir_version=8), path)
    return path


def check_streams(done, of):
    for stream in (done.stdout, done.stderr):
        forged = [line for line in stream.split("\n") if "forged" in line and (line.startswith(tuple(FORGED)) or line.lstrip().startswith(("::", "f\n")))]
        expect(not forged, f"{of}: prints {forged[:2]}")
        bad = [hex(ord(letter)) for letter in stream if (ord(letter) < 32 and letter != "\n") or letter in TURNED or letter in "\u202a\u2069"]
        expect(not bad, f"{of}: prints {bad[:5]} in {stream[-400:]!r}")


COMMANDS = [
    "quantize {m} -c a8w8 --calib {c} -o {d}/q.onnx -v --report {d}/r.json", "quantize {m} -c xint8 --calib {c} -o {d}/p.onnx", "quantize {m} -c xint8 --calib {c} -o {d}/p.onnx --dry-run",
    "quantize {m} -c xint8 --calib {c} -o {d}/n.onnx --target x1", "inspect {m} --nodes", "inspect {d}/q.onnx --scales", "inspect {u} --nodes", "analyze {m} -c a8w8 --calib {c} --min-cos 1 --write {d}/w.yaml",
    "optimize {m} -o {d}/o.onnx --dump-after optimize-basic -v", "check {d}/q.onnx", "check {m} --target x1", "check {u} --target x1", "convert {d}/q.onnx {d}/c.onnx --pass remove-qdq -v",
    "evaluate --float {m} --quantized {d}/q.onnx --data {c} --layers", "evaluate {c} {c} --details", "evaluate --float {m} --quantized {d}/q.onnx --data {c} --layers-csv -",
    "evaluate {c} {c} --csv -", "run {m} --inputs {c} --outputs {d}/results", "run {u} --inputs {c} --outputs {d}/results", "calibrate {m} -c xint8 --calib {c} -o {d}/s.st",
    "tune {m} -c xint8 --calib {c} --eval {c} --metric cosine --goal value>=0.1 -o {d}/t.onnx --state {d}/state", "import {d}/q.onnx --target x1 -o {d}/i.onnx", "quantize {u} -c a8w8 --calib {c} -o {d}/z.onnx",
    "inspect {d}/no{s}.onnx", "quantize {m} -c {d}/no{s}.yaml --calib {c}", "list {s}", "{s}", "config check {y}", "config show {y}", "quantize {m} -c {y} --calib {c} -o {d}/y.onnx",
    "quantize {m} -c xint8 --calib {d}/none{s} -o {d}/x.onnx", "quantize {m} -c xint8 --calib {c} -o {d}/none{s}/x.onnx", "quantize {m} -c xint8 --calib {c} -o {m}", "quantize --{s}", "check {m} --target {s}",
    "quantize {m} -c xint8 --calib {c} -o {d}/q.onnx --set a{s}=1", "evaluate {c} {c} --metric {s}", "report {d}/r.json -o {d}/r{s}.html",
]


@test()
def no_name_writes_a_line():
    with temp_folder() as folder:
        model, calib = evil_model(folder)
        settings = os.path.join(folder, "y.yaml")
        with open(settings, "w", encoding="utf-8") as file:
            file.write(f"preset: A8W8\nexclude: [{json.dumps('nobody' + EVIL)}]\nquarkq: {{allow_unknown_options: true}}\nextra_options: {{{json.dumps('Unknown' + SHORT)}: 1}}\n")
        places = {"m": model, "c": calib, "d": folder, "u": unknown_operator(folder), "s": SHORT, "y": settings}
        for command in COMMANDS:
            check_streams(run(*[word.format(**places) for word in command.split()]), command)
        for why in ("conv" + EVIL, "r" + EVIL, "none" + EVIL):
            check_streams(run("inspect", model, "--why", why, "--config", "a8w8"), "--why")
        for path in (os.path.join(folder, "q.onnx"), os.path.join(folder, "t.onnx")):
            expect(os.path.exists(path), f"{path} was not written: the commands prove nothing")


@test()
def names_on_a_terminal():
    with temp_folder() as folder:
        model, calib = evil_model(folder)
        for words in (["quantize", model, "-c", "a8w8", "--calib", calib, "-o", os.path.join(folder, "q.onnx")], ["inspect", model, "--nodes"]):
            _, said = harness.on_terminal([harness.QUARKQ, *words], whole=True)
            forged = [line for line in said.replace("\r", "\n").split("\n") if line.startswith(tuple(FORGED))]
            expect(not forged, f"{words[0]}: {forged}")
            expect(not set(said) & set(TURNED), f"{words[0]}: turns lines")


@test(cases=["trial.json", "saved layer"])
def state_writes_no_line(what):
    with temp_folder() as folder:
        model, calib = os.path.join(DIGITS, "digits.onnx"), os.path.join(DIGITS, "calib")
        if what == "trial.json":
            line = ["tune", model, "-c", "xint8", "--calib", calib, "--eval", calib, "--metric", "cosine", "--goal", "value>=0.1", "-o", folder + "/t.onnx", "--state", folder + "/s"]
            quarkq(*line, "-q")
            for place, _, names in os.walk(folder + "/s"):
                if "trial.json" in names:
                    with open(os.path.join(place, "trial.json"), encoding="utf-8") as file:
                        trial = json.load(file)
                    with open(os.path.join(place, "trial.json"), "w", encoding="utf-8") as file:
                        json.dump({**trial, "name": EVIL, "step": EVIL, "why_not": EVIL}, file)
            check_streams(run(*line, "-v"), "tune")
            return
        workers = os.path.join(folder, "w" + SHORT)
        check_streams(run("quantize", model, "-c", "xint8_adaround", "--calib", calib, "-o", folder + "/q.onnx", "--workers-folder", workers,
                          "--set", "FastFinetune.NumIterations=3", "-v"), "fine-tuning")


@test()
def files_named_after_tensors_are_plain():
    with temp_folder() as folder:
        model, calib = evil_model(folder)
        quarkq("quantize", model, "-c", "a8w8", "--calib", calib, "-o", "q.onnx", "--set", "SaveTensorHistFig=true", cwd=folder)
        names = sorted(os.listdir(os.path.join(folder, "tensor_hist")))
        expect(len(names) > 2, f"histograms: {names}")
        for name in names:
            expect(all(ord(letter) >= 32 and letter not in TURNED for letter in name), f"file {name!r}")
            with open(os.path.join(folder, "tensor_hist", name), encoding="utf-8") as file:
                lines = file.read().split("\n")
            expect(not any("forged" in line for line in lines[1:]) and lines[0].startswith("# tensor: "), f"{name}: {lines[:3]}")


@test()
def cells_are_no_formulas():
    with temp_folder() as folder:
        names = ["=1+cmd|x", "@SUM(1)", "+y", "-z", "\tt", "\rr", 'quoted "a", b']
        nodes = [helper.make_node("Conv", ["x" if not at else names[at - 1], "w"], [name], name=name, pads=[1, 1, 1, 1]) for at, name in enumerate(names)]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [1, 1, 8, 8])], [helper.make_tensor_value_info(names[-1], 1, [1, 1, 8, 8])],
                                  [numpy_helper.from_array(weights(1, 1, 3, 3), "w")])
        model, out = os.path.join(folder, "m.onnx"), os.path.join(folder, "q.onnx")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        calib = os.path.join(folder, "calib")
        os.mkdir(calib)
        for name in ("=cmd", "@a", "+b", "-c"):
            np.save(os.path.join(calib, name + ".npy"), weights(1, 1, 8, 8))
        quarkq("quantize", model, "-c", "a8w8", "--calib", calib, "-o", out, "-q")
        layers, pairs = os.path.join(folder, "layers.csv"), os.path.join(folder, "pairs.csv")
        quarkq("evaluate", "--float", model, "--quantized", out, "--data", calib, "--layers-csv", layers, "-q")
        quarkq("evaluate", calib, calib, "--csv", pairs, "-q")
        found = 0
        for path, columns in ((layers, 2), (pairs, 1)):
            with open(path, encoding="utf-8", newline="") as file:
                rows = list(csv.reader(file))
            expect_equal({len(row) for row in rows}, {len(rows[0])}, f"cells in rows of {path}")
            cells = [cell for row in rows[1:] for cell in row[:columns]]
            bad = [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
            expect(not bad, f"{path}: {bad}")
            found += sum("cmd" in cell for cell in cells)
        expect(found > 1, "the names are not in the tables")


@test()
def a_list_prints_nothing_of_other_files():
    with temp_folder() as folder:
        secrets = ["root:$y$j9T$secretsecret:19000:0:99999:7:::", "machine example.com login me password hunter2secret", "aws_secret_access_key = abcsecret/def",
                   "SECRET_TOKEN=topsecret", "eyJhbGciOi.secret.sig", "/srv/me/.ssh/secret", "7f00-7f01 r-xp 00000000 08:01 123 /usr/lib/secret", "x=secret.so"]
        for number, text in enumerate([*secrets, "secret" * 900000]):
            listed, settings = os.path.join(folder, f"{number}.conf"), os.path.join(folder, f"{number}.yaml")
            with open(listed, "w", encoding="utf-8") as file:
                file.write(text + "\n")
            with open(settings, "w", encoding="utf-8") as file:
                file.write(f"preset: XINT8\ncalibration: {{list: {listed}}}\n")
            done = run("quantize", os.path.join(DIGITS, "digits.onnx"), "-c", settings, "-o", os.path.join(folder, "o.onnx"))
            expect(done.returncode == 4 and f"{number}.conf:1" in done.stderr, f"exit code {done.returncode}, {done.stderr[:300]}")
            expect("secret" not in done.stderr and "login" not in done.stderr and len(done.stderr) < 1000, f"{text[:40]}: {done.stderr[:300]}")
        with open(listed, "w", encoding="utf-8") as file:
            file.write("d/" * 3000 + "none.npy\n")
        done = run("quantize", os.path.join(DIGITS, "digits.onnx"), "-c", settings, "-o", os.path.join(folder, "o.onnx"))
        expect(done.returncode == 4 and "none.npy: no such file" in done.stderr and len(done.stderr) < 1000, done.stderr[:500])


@test(cases=["a key", "a value", "a pattern", "a name"])
def a_long_text_makes_no_long_message(what):
    long = "k" * 5_000_000
    with temp_folder() as folder:
        path = os.path.join(folder, "s.yaml")
        text = {"a key": f"? {long}\n: 1\n? {long}\n: 1\n", "a value": f"preset: {long}\n", "a pattern": f"preset: XINT8\nexclude: ['^{long}']\n",
                "a name": f"preset: XINT8\nexclude: [{long}]\n"}[what]
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = run("config", "check", path, "--model", os.path.join(DIGITS, "digits.onnx"))
        expect(len(done.stderr) < 20_000 and (done.returncode == 0 or "error: " in done.stderr), f"a message of {len(done.stderr)} bytes")
