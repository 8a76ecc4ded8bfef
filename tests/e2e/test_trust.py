# SPDX-License-Identifier: MIT
"""What SECURITY.md and docs/trust.md promise: metadata of results, hardened binaries, --timeout, text that reaches a terminal, names that
lead out of a folder, streams that cannot be written."""
import csv
import json
import os
import re
import subprocess
import sys
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import harness
from harness import ROOT, Skip, expect, expect_equal, on_terminal, quarkq, run, temp_folder, test
from reference import DIGITS

MODEL = os.path.join(DIGITS, "digits.onnx")
CALIB = os.path.join(DIGITS, "calib")
EVIL = "\x1b]0;owned\x07\x1b[2J\u009b31m<script>alert(1)</script>,\"=1+1\"\n"


def metadata(path):
    return {entry.key: entry.value for entry in onnx.load(path, load_external_data=False).metadata_props}


def made(folder, name, *more, config="xint8", model=MODEL, calib=("--calib", CALIB)):
    out = os.path.join(folder, name + ".onnx")
    quarkq("quantize", model, "-c", config, *calib, "-o", out, "--set", "CalibDataSize=8", "--quiet", *more)
    return metadata(out)


@test()
def a_result_says_what_made_it():
    with temp_folder() as folder:
        found = made(folder, "plain")
        version = quarkq("--version").stdout.split()[1]
        expect_equal(sorted(found), ["quarkq.calibration", "quarkq.settings", "quarkq.version"], "keys")
        expect_equal(found["quarkq.version"], version, "version")
        expect(all(re.fullmatch("[0-9a-f]{32}", found[key]) for key in found if key != "quarkq.version"), str(found))
        expect_equal(made(folder, "threads", "--threads", "2"), found, "with two threads")
        expect_equal(made(folder, "memory", "--set", "quarkq.threads=1"), found, "with a setting of speed")
        settings = os.path.join(folder, "s.yaml")
        with open(settings, "w", encoding="utf-8") as file:
            file.write("preset: XINT8\nextra_options: {CalibDataSize: 8, AlignConcat: true}\n")
        expect_equal(made(folder, "file", config=settings), found, "the same settings from a file, a default spelled out")
        stats = os.path.join(folder, "s.qqstats")
        quarkq("calibrate", MODEL, "-c", "xint8", "--calib", CALIB, "--set", "CalibDataSize=8", "-o", stats, "--quiet")
        expect_equal(made(folder, "stats", calib=("--stats", stats)), found, "from statistics of the same samples")
        other = made(folder, "other", "--set", "include_cle=false")
        expect(other["quarkq.settings"] != found["quarkq.settings"], "other settings have the same hash")
        ranges = [made(folder, f"of{samples}", "--set", f"CalibDataSize={samples}", config="a8w8")["quarkq.calibration"] for samples in (8, 2)]
        expect(ranges[0] != ranges[1], "ranges of other samples have the same hash")


@test()
def metadata_of_the_float_model_stays():
    with temp_folder() as folder:
        path = os.path.join(folder, "float.onnx")
        model = onnx.load(MODEL)
        model.metadata_props.add(key="author", value="someone")
        model.metadata_props.add(key="quarkq.version", value="of an earlier life")
        onnx.save(model, path)
        found = made(folder, "out", model=path)
        expect_equal(found["author"], "someone", "author")
        expect(found["quarkq.version"] != "of an earlier life", "an old version stayed")


@test(cases=[("by request", ["--set", "quarkq.metadata=false"]), ("in compat mode", ["--compat", "quark-0.13"])])
def no_metadata(case):
    with temp_folder() as folder:
        expect_equal(made(folder, "out", *case[1]), {}, "metadata")


def read_elf(*arguments):
    try:
        return subprocess.run(["readelf", "-W", *arguments], check=True, capture_output=True, text=True).stdout
    except FileNotFoundError:
        raise Skip("readelf is not there") from None


@test(cases=["quarkq", "libquarkq_ort_ops.so", "libquarkq.so"])
def what_was_linked_is_hardened(name):
    path = os.path.join(os.path.dirname(harness.QUARKQ), name)
    if not os.path.exists(path):
        raise Skip(f"{name} was not built")
    headers, dynamic, symbols = read_elf("-h", "-l", path), read_elf("-d", path), read_elf("--dyn-syms", path)
    if "__asan_" in symbols or "__tsan_" in symbols:
        raise Skip("sanitizers bring their own checks")
    missing = [what for what, is_there in (
        ("position independence", re.search(r"Type:\s+DYN", headers)),
        ("RELRO", "GNU_RELRO" in headers),
        ("binding at start (full RELRO)", re.search(r"FLAGS.*\bNOW\b|BIND_NOW", dynamic)),
        ("a stack that is not executable", re.search(r"GNU_STACK.*\sRW\s", headers)),
        ("stack protector", "__stack_chk_fail" in symbols),
        ("FORTIFY", re.search(r"__\w+_chk(@|\b)", symbols.replace("__stack_chk_fail", ""))),
        ("no library paths of the build", not re.search(r"R(UN)?PATH", dynamic)),
        ("no relocation of code", "TEXTREL" not in dynamic),
    ) if not is_there]
    expect(not missing, f"{name} lacks: {', '.join(missing)}")
    # Marks of control flow at the entry of functions: there are thousands.
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-j", ".text", path], capture_output=True, text=True, check=True).stdout
    marks = code.count("endbr64")
    expect(marks > 300 or os.uname().machine != "x86_64", f"{name}: control-flow marks at {marks} places")
    return f"{marks} control-flow marks"


@test()
def every_finding_of_an_audit_has_its_test():
    """The tests that the table of docs/trust.md names are there."""
    with open(os.path.join(ROOT, "docs", "trust.md"), encoding="utf-8") as file:
        rows = [line for line in file.read().partition("## What audits found")[2].splitlines() if line.startswith("| ") and "---" not in line][1:]
    expect(len(rows) > 10, f"{len(rows)} rows")
    for row in rows:
        named = re.findall(r"`(tests/\S+)` ([\w, ]+)", row.split("|")[2])
        expect(named, f"no test in {row}")
        for path, tests in named:
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                text = file.read()
            missing = [one for one in re.findall(r"\w+", tests) if not re.search(rf"def {one}\(|TEST(_P|_F)?\(\w+, {one}\)", text)]
            expect(not missing, f"{path} has no {', '.join(missing)}")
    return f"{len(rows)} findings"


@test()
def every_download_is_pinned():
    """By its hash; those of tests alone are not shipped."""
    with open(os.path.join(ROOT, "scripts", "wheel_tools.txt"), encoding="utf-8") as file:
        rows = [line for line in file if line.strip() and not line.startswith("#")]
    expect(rows and all("--hash=sha256:" in row and "==" in row for row in rows), "scripts/wheel_tools.txt has a row without version or hash")
    for script in ("third_party/onnx/build.sh", "third_party/onnxruntime/fetch_headers.sh", "scripts/build_wheel.sh"):
        with open(os.path.join(ROOT, script), encoding="utf-8") as file:
            text = file.read()
        expect("sha256sum" in text or "--require-hashes" in text, f"{script} does not check what it fetches")


def sbom_of(program):
    """A software bill of materials, made twice with the same bytes."""
    try:
        subprocess.run(["dpkg-query", "--version"], check=True, capture_output=True)
    except FileNotFoundError:
        raise Skip("dpkg-query is not there") from None
    texts = []
    with temp_folder() as folder:
        for name in ("1.json", "2.json"):
            out = os.path.join(folder, name)
            done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "make_sbom.py"), program, out], capture_output=True, text=True,
                                  env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}, check=False)
            expect_equal(done.returncode, 0, done.stderr[-500:])
            with open(out, encoding="utf-8") as file:
                texts.append(file.read())
    expect_equal(texts[0], texts[1], "made twice")
    return json.loads(texts[0])


def versions_in(sbom):
    return {component["name"]: component["version"] for component in sbom["components"]}


@test()
def the_sbom_of_windows_names_the_pinned_sources():
    names = versions_in(sbom_of("--windows"))
    expect({"onnx", "zlib", "protobuf", "yaml-cpp", "onednn"} <= set(names), f"found only {sorted(names)}")
    with open(os.path.join(ROOT, "third_party", "windows", "build.sh"), encoding="utf-8") as file:
        script = file.read()
    for name in ("zlib", "protobuf", "onednn"):
        expect(f"{name}_{names[name]}." in script, f"{name} {names[name]} is not what is built")
    return f"{len(names)} components"


@test()
def the_sbom_names_every_library():
    """CycloneDX: the onnx library that the build fetches, and the packages of the shared libraries."""
    found = sbom_of(harness.QUARKQ)
    names = versions_in(found)
    with open(os.path.join(ROOT, "third_party", "onnx", "build.sh"), encoding="utf-8") as file:
        expect_equal(names.get("onnx"), re.search("^version=(.+)$", file.read(), re.M).group(1), "onnx")
    linked = subprocess.run(["ldd", harness.QUARKQ], capture_output=True, text=True, check=True).stdout
    for library, package in (("libdnnl", "libdnnl"), ("libprotobuf", "libprotobuf"), ("libyaml-cpp", "libyaml-cpp"), ("libgomp", "libgomp")):
        expect(library not in linked or any(name.startswith(package) for name in names), f"{library} is linked and not in {sorted(names)}")
    expect_equal(found["metadata"]["component"]["name"], "quarkq", "what it is of")
    return f"{len(names)} components"


def sleeping(folder):
    """A metric that never ends, and leaves the number of its process."""
    script = os.path.join(folder, "sleep.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(f"import os, time\nopen({os.path.join(folder, 'pid')!r}, 'w').write(str(os.getpid()))\ntime.sleep(300)\n")
    return f"'{sys.executable}' '{script}'"


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@test(cases=["while it calibrates", "while another program runs"])
def a_timeout_ends_a_run(case):
    with temp_folder() as folder:
        target = os.path.join(folder, "out")
        os.makedirs(target)
        calib = os.path.join(folder, "calib")
        os.makedirs(calib)
        for number in range(4):
            np.save(os.path.join(calib, f"{number}.npy"), np.zeros((1, 16, 256, 256), np.float32))
        if case == "while it calibrates":
            nodes = [helper.make_node("Conv", [f"c{n}" if n else "x", f"w{n}"], [f"c{n + 1}"], pads=[3, 3, 3, 3]) for n in range(30)]
            stored = [numpy_helper.from_array(np.full((16, 16, 7, 7), 1e-3, np.float32), f"w{n}") for n in range(30)]
            shape = [1, 16, 256, 256]
            graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                                      [helper.make_tensor_value_info("c30", TensorProto.FLOAT, shape)], stored)
            model = os.path.join(folder, "slow.onnx")
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
            arguments = ["quantize", model, "-c", "a8w8", "--calib", calib, "-o", os.path.join(target, "q.onnx"), "--threads", "1"]
            seconds = "0.7s"
        else:
            arguments = ["evaluate", MODEL, "--data", CALIB, "--metric-cmd", sleeping(folder), "--json=" + os.path.join(target, "e.json")]
            seconds = "2"
        begin = time.monotonic()
        done = run(*arguments, "--timeout", seconds, env={**os.environ, "TMPDIR": target})
        expect_equal(done.returncode, 7, f"exit code, {done.stderr[-300:]}")
        expect("--timeout: " in done.stderr and "no output was written" in done.stderr, done.stderr)
        expect(time.monotonic() - begin < 10, f"took {time.monotonic() - begin:.1f} s")
        expect_equal(os.listdir(target), [], "files left")
        if os.path.exists(os.path.join(folder, "pid")):
            with open(os.path.join(folder, "pid"), encoding="utf-8") as file:
                expect(not is_alive(int(file.read())), "the program that was started still runs")


@test()
def a_timeout_that_is_none_is_refused():
    for text in ("0", "-1", "soon", "1d", "nan", "1e20"):
        done = run("inspect", MODEL, "--timeout", text)
        expect(done.returncode == 2 and f"--timeout: found {text}" in done.stderr, f"{text}: {done.stderr}")
    for before in ([], ["--timeout", "60"]):
        quarkq(*before, "inspect", MODEL, *([] if before else ["--timeout", "60s"]))


def evil_model(folder):
    nodes = [helper.make_node("Conv", ["x", "w"], ["c" + EVIL], name="n" + EVIL), helper.make_node("Relu", ["c" + EVIL], ["y" + EVIL], name="m" + EVIL)]
    graph = helper.make_graph(nodes, "g" + EVIL, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 6, 6])],
                              [helper.make_tensor_value_info("y" + EVIL, TensorProto.FLOAT, [1, 3, 4, 4])],
                              [numpy_helper.from_array(np.random.default_rng(0).standard_normal((3, 2, 3, 3)).astype(np.float32), "w")])
    path = os.path.join(folder, "evil.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    calib = os.path.join(folder, "calib")
    os.makedirs(calib)
    for number in range(2):
        np.save(os.path.join(calib, f"{number}.npy"), np.random.default_rng(number).standard_normal((1, 2, 6, 6)).astype(np.float32))
    return path, calib


@test()
def names_do_not_control_a_terminal():
    with temp_folder() as folder:
        model, calib = evil_model(folder)
        out, report = os.path.join(folder, "q.onnx"), os.path.join(folder, "r.json")
        commands = [["quantize", model, "-c", "a8w8", "--calib", calib, "-o", out, "-v", "--report", report], ["inspect", model, "--nodes"],
                    ["inspect", out, "--scales"], ["analyze", model, "-c", "a8w8", "--calib", calib],
                    ["optimize", model, "-o", os.path.join(folder, "o.onnx"), "--dump-after", "optimize-basic"],
                    ["check", "--target", "x1", model], ["evaluate", "--float", model, "--quantized", out, "--data", calib, "--layers"],
                    ["quantize", model, "-c", "a8w8", "--calib", calib, "--set", "exclude=[\"" + "nobody" + "\"]"],
                    ["inspect", model, "--why", "n" + EVIL, "--config", "a8w8"], ["inspect", "no\x1b[31m.onnx"]]
        for command in commands:
            for whole in (False, True):
                _, said = on_terminal([harness.QUARKQ, *command], whole=whole)
                said = said.replace("\x1b[K", "").replace("\x1b[1;31m", "").replace("\x1b[33m", "").replace("\x1b[0m", "").replace("\r", "")
                bad = [hex(ord(c)) for c in said if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0]
                expect(not bad, f"{command[0]}: {bad[:5]} in {said[:2000]!r}")
        page = os.path.join(folder, "p.html")
        quarkq("report", report, "-o", page, "--quiet")
        with open(page, encoding="utf-8") as file:
            expect("<script>alert" not in file.read(), "a name became markup")
        with open(report, encoding="utf-8") as file:
            json.load(file)
        table = os.path.join(folder, "l.csv")
        quarkq("evaluate", "--float", model, "--quantized", out, "--data", calib, "--layers", "--layers-csv", table, "--quiet")
        with open(table, encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        expect(len({len(row) for row in rows}) == 1, f"rows of the table have {sorted({len(row) for row in rows})} cells")


@test()
def results_stay_in_their_folder():
    with temp_folder() as folder:
        names = ["..", ".", "../../up", "/abs"]
        nodes = [helper.make_node("Relu", ["x"], [name]) for name in names]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2])],
                                  [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2]) for name in names])
        model = os.path.join(folder, "m.onnx")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        calib, results = os.path.join(folder, "calib"), os.path.join(folder, "deep", "results")
        os.makedirs(calib)
        np.save(os.path.join(calib, "0.npy"), np.ones((1, 2), np.float32))
        quarkq("run", model, "--inputs", calib, "--outputs", results, "--quiet")
        expect_equal(sorted(os.listdir(folder)), ["calib", "deep", "m.onnx"], "beside the model")
        expect_equal(os.listdir(os.path.join(folder, "deep")), ["results"], "above the results")
        expect_equal(sum(len(files) for _, _, files in os.walk(results)), len(names), "results")


@test(cases=["list", "inspect", "quantize"])
def a_full_output_stream_is_an_error(verb):
    with temp_folder() as folder, open("/dev/full", "wb") as full:
        arguments = {"list": ["list", "options"], "inspect": ["inspect", MODEL, "--json"],
                     "quantize": ["quantize", MODEL, "-c", "xint8", "--calib", CALIB, "-o", os.path.join(folder, "q.onnx")]}[verb]
        done = subprocess.run([harness.QUARKQ, *arguments], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        expect_equal(done.returncode, 1, f"exit code, {done.stderr}")
        expect("standard output: writing failed" in done.stderr, done.stderr)


@test()
def one_file_for_two_results_is_refused():
    with temp_folder() as folder:
        place = os.path.join(folder, "r.json")
        done = run("quantize", MODEL, "-c", "xint8", "--calib", CALIB, "-o", os.path.join(folder, "q.onnx"), "--report", place, "--json=" + place)
        expect(done.returncode == 1 and "written twice" in done.stderr, done.stderr)
        expect_equal(os.listdir(folder), [], "files left")
