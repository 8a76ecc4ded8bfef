#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""AdaRound's and AdaQuant's error at the end of the model: quarkq by default, in compat mode, and the reference, on the same photos.

    finetune_end_error.py --python PYTHON_WITH_AMD_QUARK [--quarkq BIN] [--model NAME] [--presets NAME...] [--seeds N...] [--output FILE.json]

Calibrated with 128 photos and measured on 144 others, then the other way round: which photos these are moves the error more than the tool
does. Error: the root of the mean square of the difference between the outputs of the quantized and the float model, divided by that of
the float model's outputs; mean over both ways and --seeds, by which each tool draws its samples. quantized: the same preset without
fine-tuning. Both models run in ONNX Runtime.
"""
import argparse
import glob
import os
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

from compare_ort import ROOT, SHARED, machine, write_report
from photos import make_samples
from reference_samples import READER

REFERENCE = READER + """
model, folder, preset, out, seed = sys.argv[1:6]
config = get_default_config(preset)
config.extra_options["FastFinetune"].update(FixedSeed=int(seed))
ModelQuantizer(Config(global_quant_config=config)).quantize_model(model, out, Samples(model, folder))
"""
COMPAT = ("--compat", "quark-0.13")


def outputs(model, folder):
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return np.stack([session.run(None, {name: np.load(path)})[0].astype(np.float64) for path in sorted(glob.glob(os.path.join(folder, "*.npy")))])


def error(found, wanted):
    return float(np.sqrt(np.mean((found - wanted) ** 2) / np.mean(wanted ** 2)))


def by_reference(args, model, calib, preset, seed, out):
    done = subprocess.run([args.python, "-c", REFERENCE, model, calib, preset, out, str(seed)], capture_output=True, text=True, cwd=os.path.dirname(out))
    if done.returncode:
        sys.exit(f"the reference failed:\n{done.stderr[-2000:]}")


def by_quarkq(args, model, calib, preset, seed, out, *more):
    settings = ("--set", f"FastFinetune.FixedSeed={seed}") if seed is not None else ()
    subprocess.run([args.quarkq, "quantize", model, "--config", preset, "--calib", calib, "-o", out, "--quiet", "--no-verify", "--no-resume",
                    *settings, *more], check=True)


def measure(args, preset, model, halves, work):
    """Side -> errors, of each way and seed."""
    out = os.path.join(work, "out.onnx")
    errors = {"quantized": [], "default": [], "compat": [], "reference": []}
    sides = {"default": by_quarkq, "compat": lambda *given: by_quarkq(*given, *COMPAT), "reference": by_reference}
    for calib, others in (halves, halves[::-1]):
        wanted = outputs(model, others)
        by_quarkq(args, model, calib, preset.rsplit("_", 1)[0], None, out)
        errors["quantized"].append(error(outputs(out, others), wanted))
        for side, quantize in sides.items():
            for seed in args.seeds:
                quantize(args, model, calib, preset, seed, out)
                errors[side].append(error(outputs(out, others), wanted))
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="with amd-quark and torch")
    parser.add_argument("--quarkq", default=os.path.join(ROOT, "build/release/quarkq"), type=os.path.abspath)
    parser.add_argument("--model", default="resnet8_cifar10")
    parser.add_argument("--presets", nargs="*", default=["A8W8_ADAQUANT", "XINT8_ADAQUANT"])
    parser.add_argument("--seeds", type=int, nargs="*", default=[1705472343, 1, 2])
    parser.add_argument("--output")
    args = parser.parse_args()
    report = {"machine": machine(), "model": args.model, "presets": {}}
    with tempfile.TemporaryDirectory() as work:
        halves = [os.path.join(work, part) for part in ("calib", "eval")]
        for folder in halves:
            make_samples(args.model, folder, os.path.basename(folder))
        for preset in args.presets:
            errors = measure(args, preset, os.path.join(SHARED, "models", args.model + ".onnx"), halves, work)
            report["presets"][preset] = {side: {"mean": statistics.mean(found), "errors": found} for side, found in errors.items()}
            print(f"{args.model} {preset}: " + ", ".join(f"{side} {statistics.mean(found):.4f} ({min(found):.4f} to {max(found):.4f})"
                                                         for side, found in errors.items()), flush=True)
            write_report(args.output, report)


if __name__ == "__main__":
    main()
