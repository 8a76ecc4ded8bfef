# SPDX-License-Identifier: MIT
"""How a run starts and ends for those who start many: streams that are closed or full, the name of the process, long names of files."""
import json
import os
import signal
import subprocess
import time

import numpy as np
import onnx

import harness
from harness import expect, expect_equal, expect_error, quarkq, run, temp_folder, test
from reference import DIGITS

MODEL = os.path.join(DIGITS, "digits.onnx")
CALIB = os.path.join(DIGITS, "calib")
EVAL = os.path.join(DIGITS, "eval", "inputs")


def with_closed(streams, words, folder):
    """Exit code of the program with these descriptors closed, the others to /dev/null."""
    redirections = " ".join(f"{fd}{'<' if fd == 0 else '>'}&-" if fd in streams else f"{fd}{'<' if fd == 0 else '>'}/dev/null" for fd in (0, 1, 2))
    return subprocess.run(["bash", "-c", f'"$0" "$@" {redirections}', harness.QUARKQ, *words], cwd=folder, check=False).returncode


@test(cases=[(str(streams), streams) for streams in ([2], [1], [0], [0, 2], [1, 2], [0, 1, 2])])
def results_hold_no_messages_where_streams_are_closed(case):
    streams = case[1]
    with temp_folder() as folder:
        quiet = ["-q"] if 1 in streams else []  # a text that cannot be printed is an error, as on a full disk
        for words in (["quantize", MODEL, "-c", "xint8", "--calib", CALIB, "-o", "q.onnx", "--report", "quantize.json", "--json=q.json"],
                      ["evaluate", "--float", MODEL, "--quantized", "q.onnx", "--data", CALIB, "--metric", "cosine", "--json=evaluate.json"],
                      ["calibrate", MODEL, "-c", "xint8", "--calib", CALIB, "-o", "s.st", "--json=calibrate.json"],
                      ["tune", MODEL, "-c", "xint8", "--calib", CALIB, "--eval", CALIB, "--metric", "cosine", "--goal", "value>=0.1", "-o", "t.onnx",
                       "--report", "tune.json"]):
            expect_equal(with_closed(streams, [*words, *quiet], folder), 0, f"exit code of {words[0]}")
        for name in sorted(os.listdir(folder)):
            if name.endswith(".json"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    json.load(file)
        onnx.checker.check_model(os.path.join(folder, "q.onnx"))
        plain = os.path.join(folder, "plain.onnx")
        quarkq("quantize", MODEL, "-c", "xint8", "--calib", CALIB, "-o", plain, "-q")
        with open(plain, "rb") as one, open(os.path.join(folder, "q.onnx"), "rb") as other:
            expect(one.read() == other.read(), "another model")


TEXTS = [["--help"], ["--version"], ["help", "quantize"], ["quantize", "--help"], ["config", "show", "--help"], ["list", "presets"], ["man"],
         ["completion", "bash"], ["config", "show", "xint8"], ["inspect", MODEL], ["inspect", MODEL, "--json"]]


@test(cases=[" ".join(words[:3]).replace(MODEL, "MODEL") for words in TEXTS])
def a_text_that_does_not_arrive_is_an_error(name):
    words = next(one for one in TEXTS if " ".join(one[:3]).replace(MODEL, "MODEL") == name)
    with open("/dev/full", "wb") as full:
        done = subprocess.run([harness.QUARKQ, *words], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    expect_error(done, 1, "standard output: writing failed")
    expect_equal(with_closed([1], words, "."), 1, "exit code with a closed stdout")
    expect_equal(with_closed([2], words, "."), 0, "exit code with a closed stderr")


@test(cases=["quantize", "inspect"])
def the_process_has_the_name_of_the_program(verb):
    with temp_folder() as folder:
        calib = os.path.join(folder, "calib")
        os.mkdir(calib)
        os.mkfifo(os.path.join(folder, "m.onnx"))
        words = {"quantize": ["tune", MODEL, "-c", "xint8", "--calib", CALIB, "--eval", EVAL, "--metric-cmd", "sleep 30", "--goal", "value>=2",
                              "-o", os.path.join(folder, "t.onnx")], "inspect": ["plan", MODEL, "-c", "xint8", "--calib", CALIB, "--eval", EVAL, "--metric", "cosine"]}[verb]
        link = os.path.join(folder, "my-quarkq")
        os.symlink(harness.QUARKQ, link)
        process = subprocess.Popen([link, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        names, end = set(), time.monotonic() + 5
        while time.monotonic() < end and process.poll() is None and "my-quarkq" not in names:
            with open(f"/proc/{process.pid}/comm", encoding="utf-8") as file:
                names.add(file.read().strip())
            time.sleep(0.002)
        process.send_signal(signal.SIGTERM)
        process.wait()
        expect("my-quarkq" in names, f"the process was called {names}")


@test()
def names_may_be_as_long_as_the_file_system_allows():
    with temp_folder() as folder:
        calib = os.path.join(folder, "calib")
        os.mkdir(calib)
        for number in range(2):
            np.save(os.path.join(calib, "s" * 249 + f"{number}.npy"), np.load(os.path.join(CALIB, "000.npy")))
        name = "n" * 250 + ".onnx"
        quarkq("quantize", MODEL, "-c", "xint8", "--calib", calib, "-o", name, "-q", cwd=folder)
        quarkq("calibrate", MODEL, "-c", "xint8", "--calib", calib, "-o", "s" * 255, "-q", cwd=folder)
        quarkq("run", MODEL, "--inputs", calib, "--outputs", "results", "-q", cwd=folder)
        expect_equal(sorted(os.listdir(os.path.join(folder, "results"))), sorted(os.listdir(calib)), "results")
        model = onnx.load(MODEL)
        for node in model.graph.node:  # one long tensor name must not end the run
            for names in (node.input, node.output):
                for at, tensor in enumerate(names):
                    if tensor not in [value.name for value in [*model.graph.input, *model.graph.output, *model.graph.initializer]]:
                        names[at] = "t" * 400 + tensor
        onnx.save(model, os.path.join(folder, "long.onnx"))
        quarkq("quantize", "long.onnx", "-c", "a8w8", "--calib", calib, "-o", "q.onnx", "-q", "--set", "SaveTensorHistFig=true", cwd=folder)
        expect(len(os.listdir(os.path.join(folder, "tensor_hist"))) > 3, "histograms")
        expect_equal([one for one in os.listdir(folder) if ".part-" in one], [], "temporaries")
        expect_error(run("quantize", MODEL, "-c", "xint8", "--calib", calib, "-o", "n" * 256, cwd=folder), 1, "File name too long")
