#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the targets run, scored: each network, quantized by the default command for each target, joined with its tail.

    targets.py [--check] [--networks NAME ...] [--targets NAME ...]

Writes target_results.json and targets.md next to this file and prints the table: score of the float model and of each target with a 95 % interval
(bootstrap over photos), placed nodes, regions, and the share of multiply-accumulates in 16 bits. --check writes nothing and fails where a score is
more than --slack below the recorded one, fewer nodes are placed, or a verdict is a false comfort. Needs ../shared, numpy, pillow, scipy and onnxruntime; QUARKQ names the
program. No photo that is scored is calibrated with.
"""
import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile

import numpy as np

from labelled import model_of
from run import ROOT, TRAINED
from scored import NETWORKS

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS, TABLE = os.path.join(HERE, "target_results.json"), os.path.join(HERE, "targets.md")
PROGRAM = os.environ.get("QUARKQ", os.path.join(ROOT, "build", "release", "quarkq"))
PRESETS = {"x1": "XINT8", "x2": "A8W8", "gen2-vint8": "VINT8"}
DRAWS = 200
HEADER = """# What the targets run, scored

Made by `tests/accuracy/targets.py`: the default command (`quantize --config PRESET --target TARGET --calib FOLDER`), the body joined with its
float tail, photos that were not calibrated with. In brackets the 95 % interval by bootstrap over photos; PSNR, mIoU, AP50 and cosines are
against the float model. Below each score: placed nodes, regions, and what a rescue did to the formats.

"""
LABELLED = ("mAP", "top-1 %", "h-mean", "exact lines %")  # measures in points of the task
VERDICTS = """
## Verdicts

What the summaries of the same runs said, before any label was seen, of results that lose points of a labelled measure. Right: good within 1 point
of the float model, fair within 3, poor otherwise. False comfort: good or fair, and more than 3 points lost. False alarm: poor, within 1 point,
although the target runs it.

"""


def session(path):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.disable_quant_qdq", "1")  # the int8 kernels saturate on CPUs without VNNI
    options.log_severity_level, options.intra_op_num_threads = 4, os.cpu_count()
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def outputs_of(path, samples):
    model = session(path)
    names, shapes = zip(*((one.name, one.shape) for one in model.get_inputs()))
    for sample in samples:
        feed = {name: sample.feed.get(name, sample.feed[""]) for name in names}
        yield model.run(None, {name: array.reshape([-1 if isinstance(size, str) else size for size in shape]) if array.ndim != len(shape) else array
                               for (name, array), shape in zip(feed.items(), shapes)})


def write_calibration(network, model, folder):
    names = [one.name for one in session(model).get_inputs()]
    for number, feed in enumerate(network.calib()):
        for name in names:
            place = os.path.join(folder, name) if len(names) > 1 else folder
            os.makedirs(place, exist_ok=True)
            np.save(os.path.join(place, f"{number:04d}.npy"), feed.get(name, feed[""]))


def quantize(name, target, calib, folder):
    """Path of the joined model, and the report."""
    output, joined, report = (os.path.join(folder, one) for one in ("q.onnx", "joined.onnx", "r.json"))
    subprocess.run([PROGRAM, "quantize", model_of(name), "--config", PRESETS[target], "--target", target, "--calib", calib, "-o", output,
                    "--joined", joined, "--report", report, "--quiet"], check=True)
    with open(report, encoding="utf-8") as file:
        found = json.load(file)
    return found.get("joined") or output, found


def interval(records, score):
    rng = np.random.default_rng(1)
    drawn = [score([records[k] for k in rng.integers(len(records), size=len(records))]) for _ in range(DRAWS)]
    return [round(float(one), 4) for one in np.percentile(drawn, [2.5, 97.5])]


def scored(network, outputs, samples, floats):
    records = [network.record(found, sample.truth, true) for found, sample, true in zip(outputs, samples, floats, strict=True)]
    return {"score": round(network.score(records), 4), "interval": interval(records, network.score)}


def formats(rescue):
    if not rescue:
        return ""
    wide = [f"{len(rescue['tensors_in_16_bits'])} activations in 16 bits, {100 * rescue['macs_in_16_bits']:.0f} % of MACs"] if rescue["tensors_in_16_bits"] else []
    count = len(rescue["float_nodes"]) + rescue["unnamed_float_nodes"]
    return ", ".join(wide + ([f"{count} float nodes, {100 * rescue['float_macs']:.0f} % of MACs"] if count else []))


def measure(name, targets):
    network, model = NETWORKS[name](), model_of(name)
    samples = list(network.samples())
    floats = list(outputs_of(model, samples))
    row = {"measure": network.measure, "photos": len(samples), "float": scored(network, floats, samples, floats), "targets": {}}
    print(f"{name}: float {text_of(row['float'])} {network.measure}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        calib = os.path.join(folder, "calib")
        write_calibration(network, model, calib)
        for target in targets:
            path, report = quantize(name, target, calib, folder)
            found = scored(network, outputs_of(path, samples), samples, floats)
            placed = report["deployable"]
            found.update({"deployable": placed["holds"], "nodes": placed["nodes"], "of": placed["of"], "regions": placed["regions"],
                          "verdict": report["verdict"]["grade"], "why": report["verdict"]["why"], "formats": formats(report["rescue"]), "seconds": round(report["seconds"], 2)})
            row["targets"][target] = found
            print(f"  {target}: {text_of(found)}, {placed_text(found)}, {found['seconds']} s", flush=True)
    return row


def text_of(found):
    digits = 4 if 0 < found["score"] <= 1 else 1
    return f"{found['score']:.{digits}f} [{found['interval'][0]:.{digits}f}, {found['interval'][1]:.{digits}f}]"


def placed_text(found):
    where = f"{found['nodes']} of {found['of']} nodes" + (f" in {found['regions']} regions" if found["regions"] > 1 else "")
    refused = {"yes": "", "in parts": ", in parts"}.get(found["deployable"], ", not deployable")
    return where + refused + (f", {found['formats']}" if found["formats"] else "")


def judged(recorded):
    """(network, target, points lost, result, grade by points, what is wrong with the verdict) of labelled results."""
    for name, row in recorded["networks"].items():
        for target, found in row["targets"].items():
            if row["measure"] not in LABELLED:
                continue
            lost = row["float"]["score"] - found["score"]
            right = "good" if lost <= 1 else "fair" if lost <= 3 else "poor"
            comfort = found["verdict"] != "poor" and lost > 3
            alarm = found["verdict"] == "poor" and lost <= 1 and found["deployable"] != "no"
            yield name, target, lost, found, right, "false comfort" if comfort else "false alarm" if alarm else ""


def verdicts(recorded):
    rows = list(judged(recorded))
    lines = ["| network, target | points lost | right | verdict | why | |", "|---|---|---|---|---|---|"]
    lines += [f"| `{name}`, {target} | {lost:.1f} | {right} | {found['verdict']} | {found.get('why', '')} | {fault} |" for name, target, lost, found, right, fault in rows]
    counts = {fault: sum(one[-1] == fault for one in rows) for fault in ("false comfort", "false alarm")}
    return VERDICTS + "\n".join(lines) + f"\n\nOf {len(rows)} verdicts, false comfort {counts['false comfort']}, false alarm {counts['false alarm']}.\n"


def table(recorded):
    lines = ["| network, measure | float | " + " | ".join(f"{preset}, {target}" for target, preset in PRESETS.items()) + " |", "|---" * (2 + len(PRESETS)) + "|"]
    for name, row in recorded["networks"].items():
        cells = [f"{text_of(row['targets'][one])}<br>{placed_text(row['targets'][one])}" if one in row["targets"] else "-" for one in PRESETS]
        lines.append(f"| `{name}`, {row['measure']}, {row['photos']} photos | {text_of(row['float'])} | " + " | ".join(cells) + " |")
    return HEADER + "\n".join(lines) + f"\n\nMachine: {recorded['machine']}.\n" + verdicts(recorded)


def differences(name, found, before, slack):
    for target, now in found["targets"].items():
        wanted = before["targets"].get(target) if before else None
        good = wanted is not None and now["score"] >= wanted["score"] - slack * (0.01 if wanted["score"] <= 1 else 1) and now["nodes"] * wanted["of"] >= wanted["nodes"] * now["of"]
        print(f"{'ok' if good else 'FAIL'} targets.{name}.{target}: {text_of(now)}, {placed_text(now)}; recorded {text_of(wanted) if wanted else 'nothing'}")
        yield good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--slack", type=float, default=1.5)
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS))
    parser.add_argument("--targets", nargs="+", default=list(PRESETS))
    options = parser.parse_args()
    if not os.path.isdir(TRAINED):
        print("skip accuracy of targets: ../shared/trained is not there")
        return 0
    recorded, good = {"networks": {}}, True
    if os.path.exists(RESULTS):
        with open(RESULTS, encoding="utf-8") as file:
            recorded = json.load(file)
    for name in options.networks:
        found = measure(name, options.targets)
        before = recorded["networks"].get(name)
        if options.check:
            good &= all(list(differences(name, found, before, options.slack)))
            for _, target, lost, _, _, fault in judged({"networks": {name: found}}):
                if fault == "false comfort":
                    print(f"FAIL targets.{name}.{target}: false comfort, {lost:.1f} points lost")
                    good = False
            continue
        found["targets"] = {**(before or {}).get("targets", {}), **found["targets"]}
        recorded["networks"][name] = found
        recorded["networks"] = {one: recorded["networks"][one] for one in NETWORKS if one in recorded["networks"]}
        recorded["machine"] = f"{platform.machine()}, {os.cpu_count()} cores"
        for path, text in ((RESULTS, json.dumps(recorded, indent=1) + "\n"), (TABLE, table(recorded))):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
