#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every shared network, quantized for every target: does the result agree with `check --target`, run, and keep its accuracy?

    legalized.py [--only REGEX] [--targets NAME,...] [--write FILE.md] [--check]

Held against each pair: quantize ends well; `check --target` says of the file what quantize said; a model without com.amd.quark loads in
ONNX Runtime; no cause of harm remains that a rewrite of quarkq removes (remedies of the kind "rewrite"), but those of LEFT; the outputs are
not farther from the float ones than those of the same preset without the target, both without a rescue, because targets take other formats
for one, but those of FARTHER. Skips when ../shared is not there.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

import onnx
import onnxruntime

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "reference"))
from golden_case import ROOT, SHARED, cases  # noqa: E402

QUARKQ = os.environ.get("QUARKQ", os.path.join(ROOT, "build", "release", "quarkq"))
SAMPLES = "8"
WORSE = 0.02  # of mean cosine; rewrites and other formats round elsewhere
# Causes that a rewrite would remove and that remain, with the reason.
LEFT = {
    ("vit_digits", "rank-above"): "a Gather takes query, key and value from the tensor of rank 5",
    ("char_gpt", "rank-above"): "a Gather takes query, key and value from the tensor of rank 5",
    ("lstr_360x640", "rank-above"): "Unsqueeze and Concat join decoder layers in a tensor of rank 5",
    ("gtcrn_stream", "rank-above"): "an input has rank 5",
    ("gtcrn_stream", "batch-above-1"): "its state has 2 layers in the first dimension, which is no batch",
    ("silero_vad_16k", "batch-above-1"): "its state has 2 layers in the first dimension, which is no batch",
}
# Pairs whose outputs are farther from the float ones, with the reason.
FARTHER = {
    ("gtcrn_stream", "gen2-vint8"): "the target asks for biases of 8 bits",
    ("gtcrn_stream", "gen2-mixed"): "the target asks for biases of 8 bits",
}
# Inputs with symbolic dimensions, in the shape of their samples.
SHAPES = {
    "char_gpt": ["tokens=1,64"],
    "silero_vad_16k": ["input=1,576", "state=2,1,128"],
    "ppocrv3_det": ["x=1,3,320,320"],
}
# Integer compilers of networks of pictures, and the networks that are not such networks: the census counts the other pairs.
CENSUS = ("x1", "x2", "gen2-vint8")
NO_PICTURES = ("char_gpt", "vit_cifar10_ibp_3_3_8", "vit_digits", "silero_vad_16k", "gtcrn_stream")
HARMFUL = ("crash", "nothing-placed", "wrong-results", "falls-back")


def run(arguments):
    return subprocess.run([QUARKQ, *arguments, "--quiet"], capture_output=True, text=True)


def targets():
    listed = json.loads(run(["list", "targets", "--json", "-"]).stdout)
    return {row["name"]: row for row in listed}


def rewrites():
    listed = json.loads(run(["list", "remedies", "--json", "-"]).stdout)
    return {row["name"] for row in listed if row["kind"] == "rewrite"}


def networks():
    """{name: (model, samples)}."""
    return {case.model: (case.float_model, case.samples) for case in cases("networks")}


def quantize(model, samples, folder, extra):
    """(report or None, what was printed, path of the result)"""
    out, report = os.path.join(folder, "out.onnx"), os.path.join(folder, "report.json")
    done = run(["quantize", model, "--calib", samples, "--set", f"CalibDataSize={SAMPLES}", "--threads", "1", "-o", out, "--report", report, *extra])
    if done.returncode:
        return None, done.stderr.strip().splitlines()[-1:], out
    with open(report) as file:
        return json.load(file), done.stderr, out


def mean_cosine(report):
    values = [row["cosine"] for row in report["outputs"] if row["cosine"] is not None and not row.get("near_zero")]
    return sum(values) / len(values) if values else None


def loads(path):
    model = onnx.load(path)
    if any(node.domain == "com.amd.quark" for node in model.graph.node):
        return True
    try:
        onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        return True
    except Exception as error:  # noqa: BLE001 - the runtime throws several types
        return str(error).splitlines()[0]


def is_whole(checked):
    """All but 5 nodes, or 98 % of them, in at most 2 regions."""
    found = checked["predicted"]
    left = found["total"] - found["npu"]
    return not checked["blocked"] and found["subgraphs"] <= 2 and (left <= 5 or left <= 0.02 * found["total"])


def judge(name, target, preset, plain):
    """One row: (name, target, faults, text, whether it is whole)."""
    model, samples = networks()[name]
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        fixed = [word for shape in SHAPES.get(name, []) for word in ("--shape", shape)]
        report, told, out = quantize(model, samples, folder, ["--target", target, *fixed])
        if report is None:
            return name, target, [f"fails: {told}"], "-", False
        checked = json.loads(run(["check", out, "--target", target, "--json", "-"]).stdout)
        predicted, said = checked["predicted"], report["target"]
        if (said["verdict"], said["npu"], said["subgraphs"]) != (checked["verdict"], predicted["npu"], predicted["subgraphs"]):
            faults.append(f"quantize says {said}, check says {checked['verdict']} {predicted}")
        for finding in checked["findings"]:
            if finding["remedy"] in REWRITES and finding["effect"] in HARMFUL and (name, finding["rule"]) not in LEFT:
                faults.append(f"{finding['rule']} remains: {finding['text']}")
        loaded = loads(out)
        if loaded is not True:
            faults.append(f"ONNX Runtime: {loaded}")
        cosine = mean_cosine(report)
        own, before = cosine, plain
        if own is not None and before is not None and own < before - WORSE:
            own, before = (mean_cosine(quantize(model, samples, folder, [*options, "--on-collapse", "warn"])[0])
                           for options in (["--target", target, *fixed], ["--config", preset]))
            if own < before - WORSE and (name, target) not in FARTHER:
                faults.append(f"cosine {own:.4f}, without the target {before:.4f}")
    share = "blocked" if checked["blocked"] else f"{predicted['npu']} of {predicted['total']}, {predicted['subgraphs']}"
    cosine_text = "-" if cosine is None else f"{cosine:.4f}"
    return name, target, faults, f"{share}; {cosine_text}", is_whole(checked)


def plain_cosine(name, preset):
    if preset == "":
        return None
    model, samples = networks()[name]
    with tempfile.TemporaryDirectory() as folder:
        report, _, _ = quantize(model, samples, folder, ["--config", preset])
        return mean_cosine(report) if report else None


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--targets", default="")
    parser.add_argument("--write")
    parser.add_argument("--check", action="store_true", help="an ok or FAIL line for each pair")
    return parser.parse_args()


def main():
    options = parse_arguments()
    if not os.path.isdir(SHARED):
        print("skip targets.legalized: ../shared is not there")
        return 0
    known = targets()
    wanted = options.targets.split(",") if options.targets else sorted(known)
    names = [name for name in sorted(networks()) if re.search(options.only, name)]
    presets = {target: known[target]["preset"].strip("-") for target in wanted}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        plain = {(name, preset): pool.submit(plain_cosine, name, preset) for name in names for preset in set(presets.values())}
        jobs = [pool.submit(lambda n=name, t=target: judge(n, t, presets[t], plain[n, presets[t]].result())) for name in names for target in wanted]
        rows = [job.result() for job in jobs]
    for name, target, faults, text, _ in rows:
        if options.check:
            print(f"{'FAIL' if faults else 'ok'} {name} {target}{': ' if faults else ''}{'; '.join(faults)}")
        else:
            print(f"{name:28} {target:12} {text} {'; '.join(faults)}", flush=True)
    if options.write:
        write_table(options.write, names, wanted, rows)
    return 1 if any(row[2] for row in rows) else 0


def write_table(path, names, wanted, rows):
    texts = {(name, target): text for name, target, _, text, _ in rows}
    with open(path, "w") as file:
        file.write("# Every shared network for every target\n\nNodes on the NPU as predicted, regions; mean cosine with the float outputs. Written by `tests/targets/legalized.py`.\n\n")
        file.write(f"| network | {' | '.join(wanted)} |\n|---|{'---|' * len(wanted)}\n")
        for name in names:
            file.write(f"| {name} | {' | '.join(texts[name, target] for target in wanted)} |\n")
        file.write("\n## Census\n\nNetworks of pictures placed whole: all but 5 nodes, or 98 % of them, in at most 2 regions.\n\n| target | whole | not whole |\n|---|---|---|\n")
        for target in CENSUS:
            pairs = [(name, whole) for name, found, _, _, whole in rows if found == target and name not in NO_PICTURES]
            left = ", ".join(name for name, whole in pairs if not whole)
            file.write(f"| {target} | {sum(whole for _, whole in pairs)} of {len(pairs)} | {left} |\n")


REWRITES = set()
if __name__ == "__main__":
    REWRITES = rewrites()
    sys.exit(main())
