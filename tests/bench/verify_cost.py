#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The time of the verification as a share of the rest of a quantize run on 128 photos, for one program or several (before and after).

    verify_cost.py [--quarkq BIN...] [--config XINT8] [--samples 8 16] [--rounds N] [--output FILE.json] [--models NAME...]

Medians of interleaved rounds, without a rescue. Target: at most 10 %. Run it on an idle machine.
Needs: the shared models and photos beside the repository.
"""
import argparse
import json
import os
import platform
import statistics
import tempfile

from forecast import RECIPES, ROOT, SHARED, measured

MODELS = ["efficientnet_lite0_224", "squeezenet1_1", "nanodet_m_416", "deeplabv3_mnv2_voc_257", "mobilenetv1_025_vww_96"]


def seconds(binary, model, args, samples, out):
    """(verification, everything else)"""
    report = json.loads(measured([binary, "quantize", os.path.join(SHARED, "models", model + ".onnx"), "--config", args.config, "--calib",
                                  os.path.join(SHARED, "data", "calib"), "--set", "preprocess=" + RECIPES[model], "-o", out, "--json",
                                  "--on-collapse", "warn", "--verify", str(samples)])[2])
    verify = sum(phase["seconds"] for phase in report["phases"] if phase["name"] == "verify")
    return verify, report["seconds"] - verify


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quarkq", nargs="*", default=[os.path.join(ROOT, "build/release/quarkq")])
    parser.add_argument("--config", default="XINT8")
    parser.add_argument("--samples", nargs="*", type=int, default=[8, 16])
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output")
    args = parser.parse_args()
    rows, load = [], os.getloadavg()
    with tempfile.TemporaryDirectory() as folder:
        for model in args.models:
            for samples in args.samples:
                found = [[] for _ in args.quarkq]
                for _ in range(args.rounds):
                    for i, binary in enumerate(args.quarkq):
                        found[i].append(seconds(binary, model, args, samples, os.path.join(folder, "out.onnx")))
                shares = [statistics.median(verify / rest for verify, rest in runs) for runs in found]
                rows.append({"model": model, "samples": samples, "shares": shares, "seconds": [[statistics.median(side) for side in zip(*runs)] for runs in found]})
                print(f"{model:24} {samples:3} samples  " + "  ".join(f"{100 * share:5.1f} %" for share in shares), flush=True)
    print(f"load {load[0]:.1f} before, {os.getloadavg()[0]:.1f} after")
    if args.output:
        with open(args.output, "w") as file:
            json.dump({"system": platform.platform(), "cores": os.cpu_count(), "load": [load, os.getloadavg()], "config": args.config, "rows": rows}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
