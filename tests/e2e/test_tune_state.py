# SPDX-License-Identifier: MIT
"""What earlier runs of tune left is input like any other: models of trials are compared with their hash, everything that a run reads is in
their key, and runs of one output share their trials."""
import glob
import json
import os
import shutil
import subprocess
import time

import numpy as np
import onnx
from onnx import numpy_helper

from harness import QUARKQ, expect, expect_equal, quarkq, read_bytes, run, temp_folder, test
from reference import DIGITS

MODEL = os.path.join(DIGITS, "digits.onnx")
CALIB = os.path.join(DIGITS, "calib")
EVAL = os.path.join(DIGITS, "eval", "inputs")
LABELS = os.path.join(DIGITS, "eval", "labels.csv")
TOP1 = ["--calib", CALIB, "--eval", EVAL, "--labels", LABELS, "--metric", "top1"]


def write(path, data):
    os.remove(path)
    with open(path, "wb") as file:
        file.write(data)


def link(path, target):
    os.remove(path)
    os.symlink(target, path)


def folder_instead(path):
    os.remove(path)
    os.mkdir(path)


CHANGES = {
    "empty": lambda path: write(path, b""),
    "cut off": lambda path: write(path, read_bytes(path)[:4000]),
    "a text": lambda path: write(path, b"hello"),
    "the float model": lambda path: write(path, read_bytes(MODEL)),
    "one byte": lambda path: write(path, read_bytes(path)[:-1] + b"\1"),
    "a link to another file": lambda path: link(path, "/etc/passwd"),
    "a link to the same bytes": lambda path: (shutil.copy(path, path + ".copy"), link(path, path + ".copy")),
    "a folder": folder_instead,
    "missing": os.remove,
}


@test(cases=list(CHANGES))
def a_model_that_is_not_the_trials_is_made_anew(change):
    with temp_folder() as folder:
        out, state = os.path.join(folder, "t.onnx"), os.path.join(folder, "state")
        line = ["tune", MODEL, "-c", "xint8", *TOP1, "--goal", "drop<=0.5", "-o", out, "--state", state]
        quarkq(*line, "-q")
        right = read_bytes(out)
        os.remove(out)
        models = glob.glob(state + "/*/*/t.onnx")
        expect(models, "no trial in the folder")
        for path in models:
            CHANGES[change](path)
        report = json.loads(quarkq(*line, "--json").stdout)
        expect(not report["trials"][0]["reused"], "the trial was taken as it is")
        expect(read_bytes(out) == right, "the result is another one")


@test(cases=["model", "weights", "float.json", "trial.json"])
def links_in_the_folder_are_not_followed(name):
    """Also for external data: a link could copy any file that the user may read into the output."""
    with temp_folder() as folder:
        out, state = os.path.join(folder, "t.onnx"), os.path.join(folder, "state")
        line = ["tune", MODEL, "-c", "xint8", *TOP1, "--goal", "drop<=0.5", "-o", out, "--state", state, "--set", "use_external_data_format=true"]
        quarkq(*line, "-q")
        right = [read_bytes(out), read_bytes(out + ".data")]
        pattern = {"model": "/*/*/t.onnx", "weights": "/*/*/t.onnx.data", "float.json": "/*/float.json", "trial.json": "/*/*/trial.json"}[name]
        paths = glob.glob(state + pattern)
        expect(paths, f"no {pattern}")
        for path in paths:
            shutil.copy(path, path + ".copy")
            link(path, path + ".copy")
        report = json.loads(quarkq(*line, "--json").stdout)
        expect(name == "float.json" or not report["trials"][0]["reused"], "what the link leads to was taken")
        expect_equal([read_bytes(out), read_bytes(out + ".data")], right, "the result")


def save(path, factor, location):
    model = onnx.load(MODEL)
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.ndim > 1:
            tensor.raw_data = (values * factor).astype(np.float32).tobytes()
    weights = os.path.join(os.path.dirname(path), location)
    os.makedirs(os.path.dirname(weights), exist_ok=True)
    if os.path.exists(weights):
        os.remove(weights)
    onnx.save(model, path, save_as_external_data=True, location=location, size_threshold=0)


@test(cases=["weights.bin", "e.onnx.data", "below/w"])
def weights_under_any_name_are_in_the_key(location):
    with temp_folder() as folder:
        model = os.path.join(folder, "e.onnx")
        line = ["tune", model, "-c", "xint8", *TOP1, "--goal", "value>=0.05", "-o", os.path.join(folder, "t.onnx"), "--time", "1s",
                "--state", os.path.join(folder, "state")]
        save(model, 1, location)
        expect_equal(run(*line).returncode, 0, "exit code of the model")
        expect(json.loads(quarkq(*line, "--json").stdout)["trials"][0]["reused"], "the same run makes its trials again")
        save(model, -0.5, location)
        done = run(*line, "--json")
        expect(done.returncode == 5 and not json.loads(done.stdout)["trials"][0]["reused"], f"after new training: exit code {done.returncode}")


@test(cases=["calibration.dir", "calibration.list", "target"])
def files_that_settings_name_are_in_the_key(key):
    with temp_folder() as folder:
        samples = os.path.join(folder, "samples")
        shutil.copytree(CALIB, samples)
        listed, target = os.path.join(folder, "list.txt"), os.path.join(folder, "target.yaml")
        with open(listed, "w", encoding="utf-8") as file:
            file.write("".join(f"samples/{name}\n" for name in sorted(os.listdir(samples))[:20]))
        shutil.copy(os.path.join(DIGITS, "..", "..", "configs", "targets", "x1.yaml"), target)
        value = {"calibration.dir": samples, "calibration.list": listed, "target": target}[key]
        calib = ["--calib", samples] if key == "target" else []
        line = ["tune", MODEL, "-c", "xint8", *calib, *TOP1[2:], "--goal", "value>=0.05", "-o", os.path.join(folder, "t.onnx"), "--state",
                os.path.join(folder, "state"), "--set", f"{key}={value}", "--json"]
        runs = [json.loads(quarkq(*line).stdout)["trials"][0]["reused"] for _ in range(2)]
        if key == "target":
            with open(target, "a", encoding="utf-8") as file:
                file.write("# another text\n")
        else:
            np.save(os.path.join(samples, "000.npy"), np.load(os.path.join(samples, "000.npy")) * 2)
        runs.append(json.loads(quarkq(*line).stdout)["trials"][0]["reused"])
        expect_equal(runs, [False, True, False], "trials that were taken from an earlier run")


@test(cases=[0, 0.05, 0.2, 0.5])
def two_runs_of_one_output_end_alike(delay):
    with temp_folder() as folder:
        line = [QUARKQ, "tune", MODEL, "-c", "xint8", *TOP1, "--goal", "value>=0.999", "--time", "2s", "-o", os.path.join(folder, "t.onnx"), "-q"]
        first = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
        time.sleep(delay)
        second = subprocess.run(line, stderr=subprocess.PIPE, text=True, check=False)
        said = first.communicate()[1] + second.stderr
        expect_equal((first.returncode, second.returncode), (5, 5), f"exit codes, {said}")
        expect_equal(sorted(os.listdir(folder)), ["t.onnx", "t.yaml"], "files left")


@test()
def only_its_own_settings_file_is_replaced():
    with temp_folder() as folder:
        out, beside = os.path.join(folder, "net.onnx"), os.path.join(folder, "net.yaml")
        line = ["tune", MODEL, "-c", "xint8", *TOP1, "--goal", "value>=0.05", "-o", out]
        with open(beside, "w", encoding="utf-8") as file:
            file.write("mine: true\n")
        done = run(*line)
        expect(done.returncode == 2 and "net.yaml: was not written by an earlier tune" in done.stderr, done.stderr)
        expect_equal((read_bytes(beside), os.path.exists(out)), (b"mine: true\n", False), "what is there")
        os.remove(beside)
        for _ in range(2):
            quarkq(*line, "-q")
        quarkq("quantize", MODEL, "-c", beside, "--calib", CALIB, "-o", os.path.join(folder, "again.onnx"), "-q")
        expect_equal(read_bytes(os.path.join(folder, "again.onnx")), read_bytes(out), "the model that the settings make")
