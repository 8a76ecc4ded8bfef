#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""quarkq tune against the reference's own way to a better model, AdaRound, on small models; `compare_reference.sh --tune` runs it.

    compare_tune.py --python PYTHON --quarkq PROGRAM [--only REGEX] [--iterations N] [--timeout 1500] [--time 10m]
                    [--output FILE.json]

One row per model, in one run on one machine: the measure (on samples that neither tool calibrates with) of the float model, of each tool's plain
XINT8, of the reference's XINT8_ADAROUND with its preset's settings, and of quarkq tune without a goal, which climbs its whole ladder; and the seconds that each
took as a command, start and import included; null where it took longer than --timeout. Results of all models are computed by `quarkq run` and scored by the same code. `load` is how
many processes wanted to run before: the figures are for comparing rows, not machines.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from compare_ort import SHARED, machine, write_report
from reference_samples import READER

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "accuracy"))
from labelled import judged_by, model_of  # noqa: E402 pylint: disable=wrong-import-position

MODELS = {"grid_detector": "ap50", "resnet8_cifar10": "cosine"}
REFERENCE = READER + """
model, folder, preset, out, iterations = sys.argv[1:6]
config = get_default_config(preset)
if int(iterations) and "FastFinetune" in config.extra_options:
    config.extra_options["FastFinetune"]["NumIterations"] = int(iterations)
ModelQuantizer(Config(global_quant_config=config)).quantize_model(model, out, Samples(model, folder))
"""


def timed(command, timeout, folder):
    """Seconds of a command that has to work; nothing when it takes longer than allowed."""
    start = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=timeout, cwd=folder)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        sys.exit(f"{command[0]}: {(done.stderr or done.stdout)[-2000:]}")
    return round(time.monotonic() - start, 1)


def value_of(program, network, model, judge):
    """The measure of a model."""
    options = [word for word in judge if word != "--eval"]
    folder = options.pop(0)
    if "--metric-cmd" not in judge:
        options = ["--float", model_of(network), "--quantized", model, *options]
    else:
        options = [model, *[word for word in options if word != "--lower-is-better"]]
    done = subprocess.run([program, "evaluate", *options, "--data", folder, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["metrics"][0]["value"]


def compared(args, network):
    with tempfile.TemporaryDirectory() as folder:
        model, calib = model_of(network), os.path.join(SHARED, "golden", "inputs", network, "calib")
        judge = judged_by(network, MODELS[network], folder)
        row = {"network": network, "measure": MODELS[network], "load": round(os.getloadavg()[0], 1)}
        if MODELS[network] != "cosine":
            row["float"] = value_of(args.quarkq, network, model, judge)
        for name, preset in (("plain", "XINT8"), ("adaround", "XINT8_ADAROUND")):
            out = os.path.join(folder, f"reference_{name}.onnx")
            seconds = timed([args.python, "-c", REFERENCE, model, calib, preset, out, str(args.iterations)], args.timeout, folder)
            row[f"reference_{name}"] = {"value": value_of(args.quarkq, network, out, judge) if seconds else None, "seconds": seconds}
        out = os.path.join(folder, "plain.onnx")
        seconds = timed([args.quarkq, "quantize", model, "--config", "xint8", "--calib", calib, "-o", out, "--on-collapse", "warn"], args.timeout, folder)
        row["quarkq_plain"] = {"value": value_of(args.quarkq, network, out, judge), "seconds": seconds}
        out, report = os.path.join(folder, "tuned.onnx"), os.path.join(folder, "report.json")
        seconds = timed([args.quarkq, "tune", model, "--config", "xint8", "--calib", calib, *judge, "--time", args.time, "-o", out, "--report", report,
                         "--quiet"],
                        args.timeout, folder)
        with open(report, encoding="utf-8") as file:
            trials = json.load(file)
        best = trials["trials"][trials["best"]]
        row["quarkq_tune"] = {"value": best["value"], "seconds": seconds, "trials": len(trials["trials"]), "by": best["name"], "wide_macs": best["wide_macs"],
                              "scored": value_of(args.quarkq, network, out, judge)}
        return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    parser.add_argument("--quarkq", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--iterations", type=int, default=0, help="of the reference's AdaRound for each layer; 0: its preset's 1000")
    parser.add_argument("--timeout", type=float, default=1500)
    parser.add_argument("--time", default="10m", help="that quarkq tune has")
    parser.add_argument("--output")
    args = parser.parse_args()
    rows = []
    for network in MODELS:
        if re.search(args.only, network):
            rows.append(compared(args, network))
            print(json.dumps(rows[-1]), flush=True)
    write_report(args.output, {"machine": machine(), "preset": "XINT8", "reference_iterations": args.iterations or 1000,
                                "timeout": args.timeout, "tune_time": args.time, "models": rows})


if __name__ == "__main__":
    main()
