#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks exported by PyTorch, through the reference and through quarkq in compat mode: how many tensors are equal.

    make_exports.py export DIR [--only REGEX]     DIR/<network>.onnx and DIR/inputs/<network>/
    make_exports.py record DIR [--only REGEX]     DIR/recorded/<network>.<case>.json: what the reference made of them
    make_exports.py compare DIR [--only REGEX] [--details N] [--write FILE]
    make_exports.py run DIR [--only REGEX] [--write FILE]
                                                  the default mode: results load and run in ONNX Runtime, cosines to the float models

`export` and `record` need an environment with the reference (amd-quark==0.13), torch, torchvision, timm and transformers; what is
there already is kept. `compare` and `run` need onnx, onnxruntime and build/release/quarkq. Weights are random with fixed seeds: nothing is downloaded.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
SAMPLES = 3
CASES = {"XINT8": "XINT8", "A8W8": "A8W8", "U8S8": "U8S8_AAWS", "BF16": "BF16"}


def chosen(names, only):
    return [name for name in names if re.search(only, name)]


def settle(module):
    """Statistics of BatchNormalization and scales of layers that differ from channel to channel, as training leaves them."""
    import torch
    for part in module.modules():
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm):
            part.running_mean.normal_(0, 0.1)
            part.running_var.uniform_(0.5, 1.5)
        if isinstance(part, (torch.nn.modules.batchnorm._BatchNorm, torch.nn.LayerNorm)) and part.weight is not None:
            part.weight.data.uniform_(0.5, 1.5)
            if part.bias is not None:
                part.bias.data.normal_(0, 0.1)


def export_network(network, name, folder, samples=SAMPLES):
    """FOLDER/NAME.onnx and `samples` random samples in FOLDER/inputs/NAME/."""
    import numpy as np
    import torch
    torch.manual_seed(sum(name.encode()))
    module = network.build().eval()
    with torch.no_grad():
        settle(module)
    random = np.random.default_rng(7)
    feeds = [random.integers(0, network.tokens, (1, *network.shape)) if network.tokens else
             random.standard_normal((1, *network.shape), np.float32) for _ in range(samples)]
    options = {"opset_version": network.opset, "input_names": ["input"], "output_names": ["output"], "dynamo": network.dynamo}
    if network.dynamic:
        options["dynamic_axes"] = {"input": {0: "batch"}, "output": {0: "batch"}}
    if network.dynamo:
        options["external_data"] = network.external
    path = os.path.join(folder, name + ".onnx")
    torch.onnx.export(module, (torch.from_numpy(feeds[0]),), path, **options)
    os.makedirs(os.path.join(folder, "inputs", name), exist_ok=True)
    for number, feed in enumerate(feeds):
        np.save(os.path.join(folder, "inputs", name, f"{number:02}.npy"), feed)


def export(name, folder):
    from networks import NETWORKS
    export_network(NETWORKS[name], name, folder)


def record(name, case, folder):
    """In a process of its own: quantizes and writes the recording."""
    import numpy as np
    import onnx
    from describe import describe
    from onnxruntime.quantization import CalibrationDataReader
    from quark.onnx import ModelQuantizer
    from quark.onnx.quantization.config import Config, get_default_config

    class Samples(CalibrationDataReader):
        def __init__(self):
            inputs = os.path.join(folder, "inputs", name)
            self.feeds = iter([{"input": np.load(os.path.join(inputs, file))} for file in sorted(os.listdir(inputs))])

        def get_next(self):
            return next(self.feeds, None)

    with tempfile.TemporaryDirectory() as work:
        out = os.path.join(work, "out.onnx")
        quantizer = ModelQuantizer(Config(global_quant_config=get_default_config(CASES[case])))
        quantizer.quantize_model(os.path.join(folder, name + ".onnx"), out, Samples())
        described = describe(onnx.load(out))
        keep = os.environ.get("KEEP_REFERENCE")
        if keep:
            os.replace(out, os.path.join(keep, f"{name}.{case}.onnx"))
    with open(os.path.join(folder, "recorded", f"{name}.{case}.json"), "w") as file:
        json.dump({"model": name, "case": case, "preset": CASES[case], **described}, file, separators=(",", ":"))


def in_processes(verb, jobs, folder):
    for arguments, target in jobs:
        if os.path.exists(target):
            continue
        with tempfile.TemporaryDirectory() as work:  # the reference leaves files in the current folder
            run = subprocess.run([sys.executable, os.path.abspath(__file__), verb, folder, "--one", *arguments], capture_output=True, text=True,
                                 cwd=work)
        said = [line for line in (run.stdout + run.stderr).splitlines() if "Error" in line]
        print(*arguments, "ok" if os.path.exists(target) else f"failed: {said[-1][:300] if said else run.returncode}", flush=True)


def compare_case(name, case, folder):
    """(matched, total, lines) of one recording against quarkq."""
    import onnx
    from describe import compare, describe
    from run_all import FLOAT_RTOL, HISTOGRAM_RTOL, QUARKQ, takes_histograms
    with open(os.path.join(folder, "recorded", f"{name}.{case}.json")) as file:
        wanted = json.load(file)
    keep = os.environ.get("KEEP_QUARKQ")
    with tempfile.TemporaryDirectory() as work:
        out = os.path.join(keep or work, f"{name}.{case}.onnx")
        run = subprocess.run([QUARKQ, "quantize", os.path.join(folder, name + ".onnx"), "--config", CASES[case], "--calib",
                              os.path.join(folder, "inputs", name), "-o", out, "--compat", "quark-0.13", "--no-verify", "--quiet",
                              "--threads", "1"], capture_output=True, text=True, timeout=600)
        if run.returncode:
            return 0, len(wanted["tensors"]), [(run.stderr.strip().splitlines() or ["failed"])[-1]]
        rtol = HISTOGRAM_RTOL if takes_histograms({"preset": CASES[case]}) else FLOAT_RTOL
        lines, matched, _ = compare(describe(onnx.load(out)), wanted, rtol)
    return matched, len(wanted["tensors"]), lines


def compare_all(options):
    recorded = sorted(os.listdir(os.path.join(options.folder, "recorded")))
    matched = total = 0
    rows = []
    for name, case in (file.split(".")[:2] for file in recorded if re.search(options.only, file)):
        found, wanted, lines = compare_case(name, case, options.folder)
        matched, total = matched + found, total + wanted
        rows.append(f"{name} {case} {found}/{wanted} {'differs' if lines else 'equal'}")
        print(rows[-1], flush=True)
        for line in lines[:options.details]:
            print("   ", line[:300], flush=True)
    print(f"tensors {matched}/{total} ({100 * matched / max(total, 1):.2f} %), {sum(row.endswith('equal') for row in rows)} of {len(rows)} cases equal")
    if options.write:
        with open(options.write, "w") as file:
            file.writelines(row + "\n" for row in rows)


def default_cosine(name, preset, folder):
    """The lowest cosine of an output to the float model, both in ONNX Runtime: mean over the samples. Raises where a step fails."""
    import numpy as np
    import onnxruntime
    from run_all import QUARKQ
    inputs = os.path.join(folder, "inputs", name)
    with tempfile.TemporaryDirectory() as work:
        out = os.path.join(work, "out.onnx")
        subprocess.run([QUARKQ, "quantize", os.path.join(folder, name + ".onnx"), "--config", preset, "--calib", inputs, "-o", out, "--quiet"],
                       capture_output=True, text=True, timeout=600, check=True)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        sessions = [onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
                    for path in (os.path.join(folder, name + ".onnx"), out)]
    cosines = []
    for file in sorted(os.listdir(inputs)):
        feed = {sessions[0].get_inputs()[0].name: np.load(os.path.join(inputs, file))}
        pairs = zip(*(session.run(None, feed) for session in sessions))
        cosines.append([np.vdot(a.astype(float), b.astype(float)) / max(np.linalg.norm(a) * np.linalg.norm(b), 1e-30) for a, b in pairs])
    return float(np.mean(cosines, axis=0).min())


def run_defaults(options):
    rows, failed = [], 0
    for file in sorted(os.listdir(options.folder)):
        name, extension = os.path.splitext(file)
        for preset in ("A8W8", "XINT8") if extension == ".onnx" and re.search(options.only, name) else ():
            try:
                rows.append(f"{name} {preset} {default_cosine(name, preset, options.folder):.4f}")
            except Exception as error:  # whatever fails is a finding
                failed += 1
                rows.append(f"{name} {preset} failed: {(getattr(error, 'stderr', '') or str(error)).strip()[-300:]}")
            print(rows[-1], flush=True)
    print(f"{len(rows) - failed} of {len(rows)} results load and run")
    if options.write:
        with open(options.write, "w") as file:
            file.writelines(row + "\n" for row in rows)
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["export", "record", "compare", "run"])
    parser.add_argument("folder")
    parser.add_argument("--only", default="")
    parser.add_argument("--one", nargs="+")
    parser.add_argument("--details", type=int, default=0)
    parser.add_argument("--write")
    options = parser.parse_args()
    if options.one:
        return (export if options.verb == "export" else record)(*options.one, options.folder)
    if options.verb == "compare":
        return compare_all(options)
    if options.verb == "run":
        return run_defaults(options)
    from networks import NETWORKS
    options.folder = os.path.abspath(options.folder)
    os.makedirs(os.path.join(options.folder, "recorded"), exist_ok=True)
    path = lambda name: os.path.join(options.folder, name + ".onnx")  # noqa: E731
    if options.verb == "export":
        jobs = [((name,), path(name)) for name in chosen(NETWORKS, options.only)]
    else:
        jobs = [((name, case), os.path.join(options.folder, "recorded", f"{name}.{case}.json")) for case in CASES for name in NETWORKS
                if os.path.exists(path(name)) and re.search(options.only, f"{name}.{case}")]
    return in_processes(options.verb, jobs, options.folder)


if __name__ == "__main__":
    sys.exit(main())
