# SPDX-License-Identifier: MIT
"""`quarkq run`: repetition, limits of samples and memory, what its JSON counts, and what it refuses before it writes anything."""
import json
import os

import numpy as np

from harness import expect, expect_equal, quarkq, run, temp_folder, test
from reference import DIGITS, folder_bytes

MODEL = os.path.join(DIGITS, "digits.onnx")
CALIB = os.path.join(DIGITS, "calib")


def ran(folder, name, *options):
    """(report, results) of a run into a folder of its own."""
    out = os.path.join(folder, name)
    report = json.loads(quarkq("run", MODEL, "--inputs", CALIB, "--outputs", out, "--json", *options).stdout)
    return report, folder_bytes(out)


@test()
def repetition_and_threads_change_no_byte():
    with temp_folder() as folder:
        once, first = ran(folder, "once", "--threads", "1")
        often, again = ran(folder, "often", "--repeat", "5", "--threads", "3")
    expect_equal(first, again, "results")
    expect_equal(once["samples"], len(os.listdir(CALIB)), "samples")
    expect_equal(len(first), once["samples"], "files")
    expect_equal(often["samples"], once["samples"], "samples of repeated runs")


@test()
def the_limit_takes_the_first_samples():
    with temp_folder() as folder:
        _, all_of_them = ran(folder, "all")
        report, some = ran(folder, "some", "--limit", "3")
        beyond, _ = ran(folder, "beyond", "--limit", "100000")
    expect_equal(report["samples"], 3, "samples")
    expect_equal(list(sorted(some)), sorted(all_of_them)[:3], "names")
    expect(all(all_of_them[name] == content for name, content in some.items()), "other results than those of a whole run")
    expect_equal(beyond["samples"], len(all_of_them), "samples of a limit beyond them")


@test()
def too_little_memory_is_said_before_anything_runs():
    with temp_folder() as folder:
        # Room for each thread is part of it, and by itself the program takes fewer threads on a busy machine.
        report, _ = ran(folder, "free", "--limit", "1", "--threads", "1")
        refused = run("run", MODEL, "--inputs", CALIB, "--outputs", os.path.join(folder, "none"), "--max-memory", "16")
        expect_equal(folder_bytes(os.path.join(folder, "none")), {}, "results of a refused run")
        enough, _ = ran(folder, "enough", "--limit", "1", "--threads", "1", "--max-memory", "1.5g")
    expect_equal(refused.returncode, 7, "exit code")
    expect("sample 000: " in refused.stderr and "allowed are 16 B" in refused.stderr, f"found {refused.stderr!r}")
    expect_equal(enough["arena_bytes"], report["arena_bytes"], "intermediate bytes")
    expect(report["arena_bytes"] > 16, "the limit was below what is needed")


REFUSED = [
    ("no such model", ["none.onnx", "--inputs", CALIB], "none.onnx"),
    ("no such samples", [MODEL, "--inputs", "nowhere"], "nowhere"),
    ("no repetition", [MODEL, "--inputs", CALIB, "--repeat", "0"], "--repeat"),
    ("memory in words", [MODEL, "--inputs", CALIB, "--max-memory", "much"], "--max-memory: found 'much', allowed are sizes such as 300K, 800M or 1.5G"),
    ("an unknown recipe", [MODEL, "--inputs", CALIB, "--preprocess", "imagnet"], "imagenet"),
]


@test(cases=REFUSED)
def wrong_usage_writes_nothing(case):
    _, arguments, word = case
    with temp_folder() as folder:
        out = os.path.join(folder, "out")
        refused = run("run", *arguments, "--outputs", out)
        expect_equal(folder_bytes(out), {}, "results")
    expect(refused.returncode in (2, 3, 4), f"exit code {refused.returncode}")
    expect_equal(refused.stdout, "", "stdout")
    expect(word in refused.stderr, f"{word} is not named: {refused.stderr!r}")


@test()
def a_sample_that_does_not_fit_is_named():
    with temp_folder() as folder:
        data = os.path.join(folder, "data")
        os.makedirs(data)
        for name in os.listdir(CALIB)[:1]:
            values = np.load(os.path.join(CALIB, name))
        np.save(os.path.join(data, "a.npy"), values)
        np.save(os.path.join(data, "b.npy"), values[..., :-1])
        refused = run("run", MODEL, "--inputs", data, "--outputs", os.path.join(folder, "out"))
    expect(refused.returncode != 0 and "b.npy" in refused.stderr, f"found {refused.stderr!r}")
