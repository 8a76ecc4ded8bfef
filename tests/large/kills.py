#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs that write gigabytes and are killed at random moments: kills.py [--kills N] [--bytes N] [--seed S] [--record FILE].

Two commands write one output with its weights beside it, in turn. After each kill the model and its data are those of one of the two,
whole, together; after the next run nothing else is in the folder."""
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

import make_models
from run import QUARKQ, bytes_of, machine

PRESETS = ("matmul_nbits", "bf16")  # a copy of the convolutions, and casts around them


def command(preset, model, out):
    return [QUARKQ, "quantize", model, "-o", out, "-c", preset, "--set", "use_external_data_format=true"]


def data_files(folder):
    return sorted(name for name in os.listdir(folder) if name != "out.onnx")


def content(folder):
    """The model file, and the data that it reads: a hash of both. A model that reads data which is not there is nothing."""
    with open(os.path.join(folder, "out.onnx"), "rb") as file:
        model = file.read()
    read = [name for name in data_files(folder) if name.encode() in model]
    found = subprocess.run(["sha256sum", *(os.path.join(folder, name) for name in read)], capture_output=True, text=True, check=True)
    # The name of the data may be that of the moment between two renames.
    return [model.replace(b"out.onnx.quarkq-new.data", b"out.onnx.data")[:1000], *(line.split()[0] for line in found.stdout.splitlines())]


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
    """Findings, kills that took place, and how many of them left a file that the next run removed."""
    whole, known = {}, {}
    for preset in PRESETS:
        whole[preset] = complete(folder, model, preset)
        known[preset] = content(folder)
    names, findings, killed, littered = os.listdir(folder), [], 0, 0
    for number in range(4 * kills):
        preset = PRESETS[number % 2]
        killed += kill_one(folder, model, preset, draw.uniform(0, whole[preset]))
        if content(folder) not in known.values():
            findings.append(f"kill {killed}: the output is neither old nor new")
        littered += sorted(os.listdir(folder)) != sorted(names)
        complete(folder, model, preset)
        if content(folder) != known[preset] or sorted(os.listdir(folder)) != sorted(names):
            findings.append(f"kill {killed}: the next run leaves {sorted(os.listdir(folder))}")
        if killed == kills:
            break
    return findings, killed, littered


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--bytes", type=float, default=1.2e9, help="of the weights")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", help="for models and results; by default a temporary one")
    parser.add_argument("--record", default="")
    options = parser.parse_args()
    place = tempfile.mkdtemp(prefix="quarkq-kills-", dir=options.folder)
    try:
        model, out = os.path.join(place, "model.onnx"), os.path.join(place, "out")
        make_models.make("unet", model, size=int(options.bytes))
        os.mkdir(out)
        findings, killed, littered = run(out, model, options.kills, random.Random(options.seed))
        row = {"kills": killed, "bytes": bytes_of(model), "left_a_file": littered, "findings": findings, "machine": machine()}
    finally:
        shutil.rmtree(place)
    print(json.dumps(row, indent=1))
    if options.record:
        with open(options.record, "w", encoding="utf-8") as file:
            json.dump(row, file, indent=1)
            file.write("\n")
    sys.exit(bool(findings) or killed < options.kills)


if __name__ == "__main__":
    main()
