# SPDX-License-Identifier: MIT
"""Quantizing with quarkq and ONNX Runtime, and running models."""
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import onnxruntime

from .fetch import ROOT

HERE = os.path.dirname(os.path.abspath(__file__))


def program():
    """Path of quarkq: $QUARKQ, the release build, or the one of the path."""
    built = os.path.join(ROOT, "build", "release", "quarkq")
    return os.environ.get("QUARKQ") or (built if os.path.exists(built) else shutil.which("quarkq")) or sys.exit("quarkq is missing: build it or install it")


def write_samples(feeds, folder):
    """One .npz per sample, with an array per input."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for number, feed in enumerate(feeds):
        np.savez(os.path.join(folder, f"{number:04}.npz"), **feed)


def measured(command, folder):
    """(text of the command, what measured.py recorded) of a run of `command`."""
    record = os.path.join(folder, "measured.json")
    result = subprocess.run([sys.executable, os.path.join(HERE, "measured.py"), record, *command], capture_output=True, text=True, check=False, cwd=ROOT)
    with open(record, encoding="ascii") as file:
        return result.stdout + result.stderr, json.load(file)


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].replace(ROOT + os.sep, "")[:300] if lines else "no message"


def shown(command):
    """The command as a user would type it, from the top folder."""
    return " ".join(part.replace(ROOT + os.sep, "") for part in ["quarkq", *command[1:]])


def quarkq(model, calib, settings, options, output):
    """Quantizes `model`; returns the row of the record without its scores.

    `output` becomes the whole model, also if the target's compiler does not run its last nodes and quarkq cuts them off."""
    report, joined = output + ".json", output + ".joined.onnx"
    command = [program(), "quantize", "--config", settings, *options, "--calib", calib, "-o", output, "--report", report, "--joined", joined, "--threads", "1", "--quiet", model]
    text, row = measured(command, os.path.dirname(output))
    row["command"] = shown(command)
    if row["exit_code"] != 0:
        return {**row, "error": last_line(text)}
    with open(report, encoding="utf-8") as file:
        made = json.load(file)
    placed = made.get("deployable") or {}
    if made["tail_nodes"]:
        os.replace(joined, output)
    return {**row, "error": None, "preset": made["preset"], "target": placed.get("target"), "deployable": placed.get("holds", "not asked"),
            "why": placed.get("why", ""), "placed_nodes": placed.get("nodes"), "nodes": placed.get("of"), "verdict": made["verdict"]["grade"], "tail_nodes": made["tail_nodes"],
            "bytes": os.path.getsize(output)}


def ort_quantize(model, calib, output):
    """The same with ONNX Runtime's quantizer, in a Python process of its own."""
    command = [sys.executable, os.path.join(HERE, "ort_quantize.py"), model, calib, output]
    text, row = measured(command, os.path.dirname(output))
    row["command"] = "onnxruntime.quantization.quantize_static with its defaults"
    row["preprocessed"] = "without quant_pre_process" not in text
    if row["exit_code"] != 0:
        return {**row, "error": last_line(text)}
    return {**row, "error": None, "bytes": os.path.getsize(output)}


def run(model, feeds):
    """One {output: array} per feed. Q/DQ pairs are computed as written: ONNX Runtime does not fuse them into integer kernels."""
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return [dict(zip(names, session.run(names, feed))) for feed in feeds]
