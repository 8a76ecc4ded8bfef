# SPDX-License-Identifier: MIT
"""--sandbox: results stay the same, and what a fault could try fails. tests/faults/escape.c stands for the fault: code that runs inside
the program, after its sandbox is closed."""
import contextlib
import os
import pty
import subprocess

import harness
from harness import ROOT, Skip, contents, expect, expect_equal, quarkq, run, temp_folder, test
from reference import DIGITS

MODEL = os.path.join(DIGITS, "digits.onnx")
CALIB = os.path.join(DIGITS, "calib")
ALLOWED = {"file_inside", "reading"}  # and nothing else
# What a refused attempt says: the filter, Landlock, a call that this process does not have, a name from one folder into another.
REFUSALS = {"EPERM", "EACCES", "ENOSYS", "EXDEV"}


def sandboxed(*arguments, **options):
    done = run(*arguments, "--sandbox", **options)
    if "--sandbox: this system lacks" in done.stderr:
        expect_equal(done.returncode, 1, "exit code where there is no sandbox")
        raise Skip(done.stderr.strip())
    return done


VERBS = {
    "quantize": ["quantize", MODEL, "-c", "xint8", "--calib", CALIB, "-o", "{out}/q.onnx"],
    "fine-tuned": ["quantize", MODEL, "-c", "xint8_adaround", "--calib", CALIB, "-o", "{out}/q.onnx", "--set", "FastFinetune.NumIterations=5"],
    "calibrate": ["calibrate", MODEL, "-c", "xint8", "--calib", CALIB, "-o", "{out}/s.qqstats"],
    "run": ["run", MODEL, "--inputs", CALIB, "--outputs", "{out}/results", "--limit", "5"],
    "optimize": ["optimize", MODEL, "-o", "{out}/o.onnx"],
    "convert": ["convert", MODEL, "-o", "{out}/c.onnxtxt"],
    "evaluate": ["evaluate", "--float", MODEL, "--quantized", MODEL, "--data", CALIB, "--layers", "--layers-csv", "{out}/l.csv"],
    "tune": ["tune", MODEL, "-c", "xint8", "--calib", CALIB, "--eval", CALIB, "--metric", "cosine", "--goal", "value>=0.5", "-o", "{out}/t.onnx"],
    "inspect": ["inspect", MODEL],
}


@test(cases=list(VERBS))
def results_are_those_without_it(verb):
    with temp_folder() as folder:
        results = []
        for name, runner in (("plain", quarkq), ("boxed", sandboxed)):
            out = os.path.join(folder, name)
            os.makedirs(out)
            done = runner(*[word.format(out=out) for word in VERBS[verb]], "--threads", "2") if verb != "inspect" else runner(*VERBS[verb])
            expect_equal(done.returncode, 0, done.stderr)
            results.append((contents(out), done.stdout if verb == "inspect" else ""))
        expect(results[0] == results[1], f"{sorted(results[0][0])} and {sorted(results[1][0])} differ")


@test()
def a_result_beside_its_model():
    with temp_folder() as folder:
        model = os.path.join(folder, "m.onnx")
        with open(MODEL, "rb") as source, open(model, "wb") as copy:
            copy.write(source.read())
        for where, name in ((folder, "m.onnx"), (None, model)):
            done = sandboxed("quantize", name, "-c", "xint8", "--calib", CALIB, cwd=where)
            expect_equal(done.returncode, 0, done.stderr)
        expect_equal(sorted(os.listdir(folder)), ["m.onnx", "m_quantized.onnx"], "files")


def compiled(folder, name):
    library = os.path.join(folder, name + ".so")
    source = os.path.join(ROOT, "tests", "faults", name + ".c")
    subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def escape(folder, *more, version=None):
    """(name of attempt -> "done" or its error, files of the folder outside, text of the victim). version: of Landlock, as an older kernel has"""
    out, target = os.path.join(folder, "out"), os.path.join(folder, "target")
    os.makedirs(out)
    os.makedirs(target)
    with open(os.path.join(target, "victim"), "w", encoding="utf-8") as file:
        file.write("precious")
    script = os.path.join(target, "run.sh")
    with open(script, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\necho run > {target}/proof\n")
    os.chmod(script, 0o700)
    victim = os.path.join(target, "victim")
    for name in ("user.a", "user.b"):
        with contextlib.suppress(OSError):  # not every file system has attributes
            os.setxattr(victim, name, b"1")
    before = os.stat(victim)
    libraries = [compiled(folder, "escape")] + ([compiled(folder, "older_landlock")] if version else [])
    log = os.path.join(out, "log")
    other = subprocess.Popen(["sleep", "60"])
    ours, theirs = pty.openpty()
    try:
        subprocess.run([harness.QUARKQ, "quantize", MODEL, "-c", "xint8", "--calib", CALIB, "-o", os.path.join(out, "q.onnx"), *more], check=False,
                       stdin=theirs, capture_output=True,
                       env={**os.environ, "LD_PRELOAD": ":".join(libraries), "ESCAPE_LOG": log, "ESCAPE_TARGET": target, "ESCAPE_OTHER": str(other.pid),
                            "LANDLOCK_VERSION": str(version), "TMPDIR": out, "GOMP_SPINCOUNT": "1000"})
    finally:
        other.kill()
        other.wait()
        os.close(ours)
        os.close(theirs)
    with open(log, encoding="utf-8") as file:
        tried = dict(line.split() for line in file)
    is_same = os.path.exists(victim) and (os.stat(victim).st_mode, os.stat(victim).st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    return tried, sorted(os.listdir(target)), contents(target).get("victim") if is_same else "changed"


def check_is_closed(tried, files, victim):
    expect_equal({name for name, outcome in tried.items() if outcome == "done"}, ALLOWED, f"what works inside: {tried}")
    others = {name: outcome for name, outcome in tried.items() if name not in ALLOWED and outcome not in REFUSALS}
    expect_equal(others, {}, "attempts that failed, but not because they were refused")
    expect_equal((files, victim), (["run.sh", "victim"], b"precious"), "what is outside")


@test(cases=["1", "2", "3", "4", "5", "6"])
def older_kernels_keep_the_promise(version):
    """What Landlock of this version does not handle the filter of calls refuses."""
    sandboxed("list", "presets")
    with temp_folder() as folder:
        check_is_closed(*escape(folder, "--sandbox", version=version))


@test()
def a_verb_within_a_verb_writes_its_result():
    with temp_folder() as folder:
        place = os.path.join(folder, "c.json")
        done = sandboxed("config", "show", "xint8", "--json=" + place)
        expect_equal(done.returncode, 0, done.stderr)
        expect(os.path.getsize(place) > 100, "no result")


@test()
def nothing_gets_out():
    sandboxed("list", "presets")
    with temp_folder() as folder:
        tried, _, _ = escape(folder)
        works = {name for name, outcome in tried.items() if outcome == "done"}
        expect(len(works) > 12, f"without a sandbox only {sorted(works)} work: the attempts prove nothing")
    with temp_folder() as folder:
        tried, files, victim = escape(folder, "--sandbox")
        check_is_closed(tried, files, victim)
    return f"{len(works)} attempts work without it, {len(tried) - len(ALLOWED)} fail with it"


@test(cases=["--metric-cmd", "--max-memory"])
def options_that_need_a_process_are_refused(option):
    arguments = {"--metric-cmd": ["evaluate", MODEL, "--data", CALIB, "--metric-cmd", "true"],
                 "--max-memory": ["quantize", MODEL, "-c", "xint8", "--calib", CALIB, "--max-memory", "1G"]}[option]
    done = run(*arguments, "--sandbox")
    expect(done.returncode == 2 and f"--sandbox: found together with {option}" in done.stderr, done.stderr)


@test()
def settings_cannot_write_elsewhere():
    with temp_folder() as folder:
        out, outside = os.path.join(folder, "out"), os.path.join(folder, "outside")
        os.makedirs(out)
        os.makedirs(outside)
        done = sandboxed("quantize", MODEL, "-c", "xint8", "--calib", CALIB, "-o", os.path.join(out, "q.onnx"), "--set",
                         "TensorsRangeFile=" + os.path.join(outside, "ranges.json"), env={**os.environ, "TMPDIR": out})
        expect(done.returncode in (0, 1), done.stderr)
        expect_equal(os.listdir(outside), [], "written outside")
