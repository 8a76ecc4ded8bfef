#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs that write gigabytes and are killed at random moments: kills.py [--kills N] [--bytes N] [--seed S] [--record FILE].

Two commands write one output with its weights beside it, in turn; before every third kill the folder is empty. After each kill the
model and its data are those of one of the two, whole, together, or there is no model where there was none; after the next run
nothing else is in the folder."""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import onnx

import make_models
from run import QUARKQ, bytes_of, machine

PRESETS = ("matmul_nbits", "bf16")  # a copy of the convolutions, and casts around them


def command(preset, model, out):
    return [QUARKQ, "quantize", model, "-o", out, "-c", preset, "--set", "use_external_data_format=true"]


NEW_DATA = "out.onnx.quarkq-new.data"  # its name in the moment between two renames


def read_model(folder):
    """The model, with its data's final name, and the data files that it reads and that are there."""
    model = onnx.load(os.path.join(folder, "out.onnx"), load_external_data=False)
    read = set()
    for entry in (entry for tensor in model.graph.initializer for entry in tensor.external_data if entry.key == "location"):
        read.add(entry.value)
        entry.value = entry.value.replace(NEW_DATA, "out.onnx.data")
    there = [os.path.join(folder, name) for name in sorted(read) if os.path.exists(os.path.join(folder, name))]
    return model.SerializeToString(deterministic=True), there


def state(folder, known):
    """Which of the known folders the model in `folder`, with all of its data, is like; "nothing" without a model, "broken" otherwise."""
    if not os.path.exists(os.path.join(folder, "out.onnx")):
        return "nothing"
    model, data = read_model(folder)
    for name, kept in known.items():
        expected, whole = read_model(kept)
        same = model == expected and len(data) == len(whole)
        if same and all(subprocess.run(["cmp", "-s", *pair], check=False).returncode == 0 for pair in zip(data, whole)):
            return name
    return "broken"


def kill_one(folder, model, preset, wait):
    """Whether the run was killed before it ended."""
    with subprocess.Popen(command(preset, model, os.path.join(folder, "out.onnx")), stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        return process.wait() == -signal.SIGKILL


def complete(folder, model, preset):
    start = time.perf_counter()
    subprocess.run(command(preset, model, os.path.join(folder, "out.onnx")), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def run(folder, model, kills, draw):
    """Findings, and how many kills took place, ended a run into an empty folder, left the new model, left a file that the next run removed."""
    whole, known, findings = {}, {}, []
    for preset in PRESETS:
        whole[preset] = complete(folder, model, preset)
        known[preset] = f"{folder}-{preset}"
        shutil.copytree(folder, known[preset])
    names, before = sorted(os.listdir(folder)), PRESETS[-1]
    counts = dict.fromkeys(("kills", "into_empty_folder", "left_new_model", "left_a_file"), 0)
    for number in range(4 * kills):
        preset = PRESETS[number % 2]
        if number % 3 == 2:
            before = "nothing"
            for name in names:
                os.remove(os.path.join(folder, name))
        was_killed = kill_one(folder, model, preset, draw.uniform(0, whole[preset]))
        found = state(folder, known)
        counts["kills"] += was_killed
        counts["into_empty_folder"] += was_killed and before == "nothing"
        counts["left_new_model"] += was_killed and found == preset
        counts["left_a_file"] += not set(os.listdir(folder)) <= set(names)
        if found not in (before, preset):
            findings.append(f"kill {counts['kills']}: the output is {found}")
        complete(folder, model, preset)
        before = state(folder, known)
        if before != preset or sorted(os.listdir(folder)) != names:
            findings.append(f"kill {counts['kills']}: the next run leaves {before} and {sorted(os.listdir(folder))}")
        print(f"kill {counts['kills']}: {preset}, found {found}, findings {len(findings)}", file=sys.stderr, flush=True)
        if counts["kills"] == kills:
            break
    return findings, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--bytes", type=float, default=2.2e9, help="of the weights")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", help="for models and results; by default a temporary one")
    parser.add_argument("--record", default="")
    options = parser.parse_args()
    place = tempfile.mkdtemp(prefix="quarkq-kills-", dir=options.folder)
    try:
        model, out = os.path.join(place, "model.onnx"), os.path.join(place, "out")
        make_models.make("unet", model, size=int(options.bytes))
        os.mkdir(out)
        findings, counts = run(out, model, options.kills, random.Random(options.seed))
        row = {**counts, "bytes": bytes_of(model), "findings": findings, "machine": machine()}
    finally:
        shutil.rmtree(place)
    print(json.dumps(row, indent=1))
    if options.record:
        with open(options.record, "w", encoding="utf-8") as file:
            json.dump(row, file, indent=1)
            file.write("\n")
    sys.exit(bool(findings) or counts["kills"] < options.kills)


if __name__ == "__main__":
    main()
