#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""AdaRound and AdaQuant, layer by layer, of quarkq and of the reference on the same samples; `compare_reference.sh --finetune` runs it.

    compare_finetune.py [--presets A8W8_ADAROUND ...] [--layers 3] [--samples 128] [--iterations N] [--threads N] [--output FILE.json]

efficientnet_lite0_224, each tool with its preset's settings (--iterations for a quick look). Both are stopped when the last layer
wanted is done; the reference's seconds of a layer are those it logs for running the models plus those for training. Ours are those of
the saved layers, which count both, too. Errors are mean squares of a block's results over all samples against the float model, with the
weights as stored: the reference's log tells them; ours come from runs with --compat quark-0.13, which like the reference train
with all samples and keep every layer. Which samples are drawn is random, and with it where EarlyStop ends a layer, so errors are means over
--seeds on both sides. Targets: at least 5 x faster per layer, at equal or lower error.
"""
import argparse
import os
import re
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from compare_ort import SHARED, machine, write_report
from photos import make_samples
from reference_samples import READER

MODEL = "efficientnet_lite0_224"
TARGET = 5

REFERENCE = READER + """
model, folder, preset, out, iterations, threads, seed, early_stop = sys.argv[1:9]
if int(threads):
    import torch
    torch.set_num_threads(int(threads))
config = get_default_config(preset)
config.extra_options["FastFinetune"].update(FixedSeed=int(seed), EarlyStop=early_stop == "True")
if int(iterations):
    config.extra_options["FastFinetune"]["NumIterations"] = int(iterations)
ModelQuantizer(Config(global_quant_config=config)).quantize_model(model, out, Samples(model, folder))
"""
SECONDS = re.compile(r"finetuning layer (\d+), (?:onnx inference|torch training).*?([\d.]+) ?s")
ERRORS = re.compile(r"recons metrics was optimized from ([-\d.e]+) to ([-\d.e]+)")
COLORS = re.compile(r"\x1b\[[\d;]*m")


def reference(args, preset, folder, work, seed):
    """[{seconds, error_before, error_after}] of the first layers."""
    command = [args.python, "-u", "-c", REFERENCE, os.path.join(SHARED, "models", MODEL + ".onnx"), folder, preset,
               os.path.join(work, "reference.onnx"), str(args.iterations), str(args.threads), str(seed), str(args.early_stop)]
    seconds, errors, told, tail = {}, [], {}, []
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", cwd=work)
    try:
        for line in process.stdout:
            line = COLORS.sub("", line)
            tail = (tail + [line])[-30:]
            if match := ERRORS.search(line):
                errors.append([float(match[1]), float(match[2])])
            if match := SECONDS.search(line):
                layer = int(match[1])
                seconds[layer] = seconds.get(layer, 0) + float(match[2])
                told[layer] = told.get(layer, 0) + 1
            if len(errors) >= args.layers and sum(count == 2 for count in told.values()) >= args.layers:
                break
    finally:
        process.kill()
        process.wait()
    if len(errors) < args.layers or len(seconds) < args.layers:
        sys.exit(f"the reference's log tells about {len(errors)} layers only:\n{''.join(tail)}")
    times = [seconds[layer] for layer in sorted(seconds)]
    return [{"seconds": time, "error_before": before, "error_after": after} for time, (before, after) in zip(times, errors)][:args.layers]


def saved_layer(path):
    """What the file of a finished layer begins with: hash, format, key, whether it was kept, errors and seconds."""
    with open(path, "rb") as file:
        head = file.read(4096)
    return struct.unpack_from("<ddd", head, head.index(b"\n") + 1 + 32 + 1)


def ours(args, preset, folder, work, *more):
    """The same of quarkq, which is stopped, too: finished layers are files beside the output."""
    out = os.path.join(work, "ours.onnx")
    state = [os.path.join(out + ".finetune", f"layer{i}.bin") for i in range(args.layers)]
    command = [args.quarkq, "quantize", os.path.join(SHARED, "models", MODEL + ".onnx"), "--config", preset, "--calib", folder, "-o", out,
               "--quiet", "--no-verify", "--threads", str(args.threads)]
    if not args.early_stop:
        command += ["--set", "FastFinetune.EarlyStop=false"]
    if args.iterations:
        command += ["--set", f"FastFinetune.NumIterations={args.iterations}"]
    process = subprocess.Popen(command + list(more), stderr=subprocess.PIPE, text=True)
    while not os.path.exists(state[-1]) and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    if not os.path.exists(state[-1]):
        sys.exit(f"quarkq finished less than {args.layers} layers:\n{said[-2000:]}")
    layers = [dict(zip(("error_before", "error_after", "seconds"), saved_layer(path))) for path in state]
    shutil.rmtree(out + ".finetune")
    return layers


def compare(args, preset, folder, work):
    own = ours(args, preset, folder, work)
    alike = [ours(args, preset, folder, work, "--compat", "quark-0.13", "--set", f"FastFinetune.FixedSeed={seed}") for seed in args.seeds]
    theirs = [reference(args, preset, folder, work, seed) for seed in args.seeds]
    rows = []
    for layer in range(args.layers):
        row = {"layer": layer, "seconds": own[layer]["seconds"], "reference_seconds": theirs[0][layer]["seconds"],
               "faster": theirs[0][layer]["seconds"] / own[layer]["seconds"]}
        for side, runs in (("", alike), ("reference_", theirs)):
            row[side + "error_before"] = statistics.mean(run[layer]["error_before"] for run in runs)
            row[side + "errors_after"] = [run[layer]["error_after"] for run in runs]
            row[side + "error_after"] = statistics.mean(row[side + "errors_after"])
        rows.append(row)
        told = [f"{row[side + 'error_before']:.4g} -> {row[side + 'error_after']:.4g} ({min(row[side + 'errors_after']):.4g} to "
                f"{max(row[side + 'errors_after']):.4g})" for side in ("", "reference_")]
        print(f"{preset} layer {layer}: {row['seconds']:.2f} s against {row['reference_seconds']:.2f} s = {row['faster']:.1f} x (target {TARGET}); "
              f"error {told[0]} against {told[1]}", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="with amd-quark and torch")
    parser.add_argument("--quarkq", required=True, type=os.path.abspath)
    parser.add_argument("--presets", nargs="*", default=["A8W8_ADAROUND", "A8W8_ADAQUANT"])
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--samples", type=int, default=128)
    parser.add_argument("--iterations", type=int, default=0)
    parser.add_argument("--seeds", type=int, nargs="*", default=[1705472343, 1, 2])
    parser.add_argument("--no-early-stop", dest="early_stop", action="store_false", help="all iterations of every layer")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--output")
    args = parser.parse_args()
    report = {"machine": machine(), "samples": args.samples, "iterations": args.iterations or "preset", "early_stop": args.early_stop, "target": TARGET, "presets": {}}
    with tempfile.TemporaryDirectory() as work:
        folder = os.path.join(work, "calib")
        os.makedirs(folder)
        make_samples(MODEL, folder)
        for extra in sorted(os.listdir(folder))[args.samples:]:
            os.remove(os.path.join(folder, extra))
        for preset in args.presets:
            report["presets"][preset] = compare(args, preset, folder, work)
            write_report(args.output, report)


if __name__ == "__main__":
    main()
