#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What AdaRound, AdaQuant and blocks gain and cost: presets with and without them, on other photos, against the float model.

    finetune_accuracy.py [--quarkq BIN] [--iterations N] [--presets NAME...] [--threads N] [--output FILE.json] [MODEL...]

128 calibration photos, measured on 144 others: mean cosine with the float model's outputs (mlsd_tiny_320: Identity_2, its displacement
map; the others hold ranks), for classifiers agreement of the best class, for efficientnet_lite0_224 top-1 by its labels, too.
Seconds: of the whole quantization, and of the finetuning in it. Iterations: the presets' (1000 at most, stopped early) unless given.
Runs are added to what FILE.json holds; the Markdown table of all of it is printed at the end.
Needs: numpy, onnxruntime, pillow, ../shared. Run it on an idle machine.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from compare_ort import ROOT, SHARED, machine, write_report
from photos import make_samples

LABELLED = "efficientnet_lite0_224"
MODELS = [LABELLED, "mobilenetv1_025_vww_96", "nanodet_m_416", "mlsd_tiny_320"]
PRESETS = ["A8W8", "A8W8_ADAROUND", "A8W8_ADAQUANT", "A8W8_BLOCK", "XINT8", "XINT8_ADAROUND", "XINT8_ADAQUANT", "XINT8_BLOCK"]
CLASSIFIERS = [LABELLED, "mobilenetv1_025_vww_96"]
MEASURED = {"mlsd_tiny_320": "Identity_2"}
SCORE = os.path.join(SHARED, "tools", "score_labelled.py")


def samples_of(name, work):
    """Folders with calibration and evaluation samples."""
    calib, evaluation = os.path.join(work, "calib"), os.path.join(work, "eval")
    make_samples(name, calib)
    if name == LABELLED:
        subprocess.run([sys.executable, SCORE, name, "--export", evaluation], check=True)
    else:
        make_samples(name, evaluation, "eval")
    return [calib, evaluation]


def results(binary, name, model, inputs, folder):
    """The outputs that count, samples in the order of their names."""
    subprocess.run([binary, "run", model, "--inputs", inputs, "--outputs", folder, "--quiet"], check=True)
    files = sorted(glob.glob(os.path.join(folder, MEASURED.get(name, "**"), "*.npy"), recursive=True))
    return [np.load(path) for path in files]


def mean_cosine(found, wanted):
    cosines = []
    for a, b in zip(found, wanted, strict=True):
        a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
        norm = np.linalg.norm(a) * np.linalg.norm(b)
        cosines.append(1.0 if np.array_equal(a, b) else float(a @ b / norm) if norm else 0.0)
    return float(np.mean(cosines))


def top1(name, outputs, work):
    path = os.path.join(work, "outputs.npy")
    np.save(path, np.stack(outputs))
    text = subprocess.run([sys.executable, SCORE, name, "--outputs", path], check=True, capture_output=True, text=True).stdout
    return json.loads(text)["top1"]


def measure(args, name, preset, folders, wanted, work):
    model, out, report = (os.path.join(*parts) for parts in ((SHARED, "models", name + ".onnx"), (work, "out.onnx"), (work, "report.json")))
    command = [args.quarkq, "quantize", model, "--config", preset, "--calib", folders[0], "-o", out, "--report", report, "--quiet",
               "--no-resume", "--threads", str(args.threads)]
    if args.iterations and ("_ADA" in preset or "_BLOCK" in preset):
        command += ["--set", f"FastFinetune.NumIterations={args.iterations}"]
    subprocess.run(command, check=True)
    with open(report, encoding="utf-8") as file:
        told = json.load(file)
    with tempfile.TemporaryDirectory() as outputs:
        found = results(args.quarkq, name, out, folders[1], outputs)
    run = {"cosine": mean_cosine(found, wanted), "seconds": told["seconds"],
           "finetune_seconds": sum(phase["seconds"] for phase in told["phases"] if phase["name"] == "finetune-weights"),
           "layers": len(told["tuned_layers"]), "kept": sum(layer["kept"] for layer in told["tuned_layers"])}
    if run["layers"]:
        run["iterations"] = args.iterations or "preset"
    if name == LABELLED:
        run["top1"] = top1(name, found, work)
    if name in CLASSIFIERS:
        run["agreement"] = float(np.mean([a.argmax() == b.argmax() for a, b in zip(found, wanted, strict=True)]))
    return run


def table(models):
    lines = ["| model | preset | iterations | top-1 | agreement | cosine | seconds | finetuning | layers kept |", "|---|---|---|---|---|---|---|---|---|"]
    percent = lambda value: "" if value is None else f"{100 * value:.1f} %"
    for name, entry in models.items():
        if "float_top1" in entry:
            lines.append(f"| {name} | float | | {percent(entry['float_top1'])} | | | | | |")
        for preset, run in entry["presets"].items():
            kept = f"{run['kept']} of {run['layers']}" if run["layers"] else ""
            tuning = f"{run['finetune_seconds']:.1f}" if run["layers"] else ""
            lines.append(f"| {name} | {preset} | {run.get('iterations', '')} | {percent(run.get('top1'))} | {percent(run.get('agreement'))} | {run['cosine']:.5f} | "
                         f"{run['seconds']:.1f} | {tuning} | {kept} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help=", ".join(MODELS))
    parser.add_argument("--quarkq", default=os.path.join(ROOT, "build/release/quarkq"))
    parser.add_argument("--presets", nargs="*", default=PRESETS)
    parser.add_argument("--iterations", type=int)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--output", default=os.path.join(ROOT, "tests/bench/results/finetune.json"))
    args = parser.parse_args()
    report = {"models": {}}
    if args.output and os.path.exists(args.output):
        with open(args.output, encoding="utf-8") as file:
            report = json.load(file)
    report.pop("note", None)
    report["machine"] = machine()
    for name in args.models or MODELS:
        with tempfile.TemporaryDirectory() as work:
            folders = samples_of(name, work)
            wanted = results(args.quarkq, name, os.path.join(SHARED, "models", name + ".onnx"), folders[1], os.path.join(work, "float"))
            entry = report["models"].setdefault(name, {"presets": {}})
            if name == LABELLED:
                entry["float_top1"] = top1(name, wanted, work)
            for preset in args.presets:
                entry["presets"][preset] = measure(args, name, preset, folders, wanted, work)
                print(f"{name} {preset}: {entry['presets'][preset]}", flush=True)
                write_report(args.output, report)
    print(table(report["models"]))


if __name__ == "__main__":
    main()
