#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Predictions of `quarkq check --target` beside figures that were published for the same networks: published.py QUARKQ > tests/targets/published.md.
Needs numpy and onnx. The networks are built from their public descriptions (networks.py) and quantized on random data."""
import json
import os
import subprocess
import sys
import tempfile

import onnx

from networks import NETWORKS

# (target, preset) -> network -> NPU, CPU, Q/DQ on the CPU, subgraphs. Sources: logs of amd/RyzenAI-SW (x2), XD1 (x1); docs/reference/targets.md.
PUBLISHED = {
    ("x2", "xint8"): {"resnet18": (164, 0, 2, 1), "resnet34": (292, 0, 2, 1), "resnet50": (393, 0, 2, 1), "squeezenet1_0": (201, 1, 2, 1),
                      "squeezenet1_1": (201, 1, 2, 1), "mobilenet_v2": (239, 36, 74, 18), "mobilenet_v3": (448, 62, 70, 32),
                      "efficientnet_b0": (792, 130, 132, 66), "efficientnet_b1": (1135, 184, 186, 93), "shufflenet_v2_x0_5": (467, 50, 100, 18),
                      "shufflenet_v2_x1_0": (467, 50, 100, 18), "densenet121": (42, 356, 1307, 63)},
    ("x2", "a8w8"): {"resnet18": (163, 0, 2, 1), "resnet34": (291, 0, 2, 1), "resnet50": (392, 0, 2, 1), "squeezenet1_0": (200, 1, 2, 1),
                     "squeezenet1_1": (200, 1, 2, 1), "mobilenet_v2": (238, 36, 74, 18), "mobilenet_v3": (540, 0, 2, 1), "efficientnet_b0": (970, 0, 2, 1),
                     "efficientnet_b1": (1387, 0, 2, 1), "shufflenet_v2_x0_5": (470, 48, 98, 17), "shufflenet_v2_x1_0": (470, 48, 98, 17)},
    ("x2", "a16w8"): {"resnet18": (163, 0, 2, 1), "resnet34": (291, 0, 2, 1), "resnet50": (392, 0, 2, 1), "squeezenet1_0": (200, 1, 2, 1),
                      "squeezenet1_1": (200, 1, 2, 1), "mobilenet_v2": (346, 0, 2, 1), "mobilenet_v3": (540, 0, 2, 1), "efficientnet_b0": (970, 0, 2, 1),
                      "efficientnet_b1": (1387, 0, 2, 1), "shufflenet_v2_x0_5": (470, 48, 98, 17), "shufflenet_v2_x1_0": (470, 48, 98, 17)},
    ("x1", "xint8"): {"resnet50": (393, 0, 2, 1), "resnext50_32x4d": (393, 0, 2, 1), "densenet121": (1703, 0, 2, 1)},
}
# Networks whose logs on x2 the rules were read from (docs/reference/targets.md).
FITTED = ("mobilenet_v2", "mobilenet_v3", "efficientnet_b0", "efficientnet_b1", "shufflenet_v2_x0_5", "shufflenet_v2_x1_0", "squeezenet1_0", "squeezenet1_1")
NOTES = {
    ("x2", "mobilenet_v2"): "the log has 18 pairs on the CPU, 17 of them are depthwise; which the other is is not known",
    ("x1", "densenet121"): "the measured file came from another exporter; all of it is placed in both",
    ("x2", "densenet121"): "not explained; on X1 the same network is placed as a whole",
}


def call(*arguments):
    result = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"{' '.join(arguments)}: {result.stderr}")
    return result.stdout


def predict(quarkq, folder, network, preset, target):
    model, out = os.path.join(folder, network + ".onnx"), os.path.join(folder, f"{network}_{preset}.onnx")
    if not os.path.exists(model):
        onnx.save(NETWORKS[network](network), model)
    if not os.path.exists(out):
        call(quarkq, "quantize", model, "--config", preset, "--set", "UseRandomData=true", "--set", "quarkq.on_collapse=warn", "-o", out, "--quiet")
    counts = json.loads(call(quarkq, "check", out, "--target", target, "--json"))["unblocked"]
    return counts["npu"], counts["cpu"], counts["vitis_ep_cpu"], counts["subgraphs"]


def text_of(counts):
    return "{}/{}/{}; {}".format(*counts)


def main(quarkq):
    rows, agree = [], {True: [0, 0], False: [0, 0]}
    with tempfile.TemporaryDirectory() as folder:
        for (target, preset), figures in PUBLISHED.items():
            for network, published in figures.items():
                found, fitted = predict(quarkq, folder, network, preset, target), target == "x2" and network in FITTED
                same, placed = found == published, found[1:] == published[1:]
                agree[fitted][0] += placed
                agree[fitted][1] += 1
                note = "" if same else NOTES.get((target, network), "") or (f"{sum(found[:3]) - sum(published[:3]):+d} nodes in the file" if placed else "")
                rows.append(f"| {target} | {preset} | {network} | {text_of(published)} | {text_of(found)} | "
                            f"{'all' if same else 'placement' if placed else 'no'} | {'yes' if fitted else ''} | {note} |")
    print("# Published and predicted figures\n\nMade by `tests/targets/published.py`. `NPU/CPU/VITIS_EP_CPU; subgraphs`. Agreement: all four figures; *placement*: those of what is left "
          "on the CPU and the subgraphs, while the quantizer wrote another number of nodes than the one of the log; or no.\nFitted: rules were read from this row, so its agreement says nothing about other networks. Of the others the counting of nodes was checked on ResNets.\n")
    for fitted, name in ((False, "not fitted"), (True, "fitted")):
        print(f"Placement agrees in {agree[fitted][0]} of {agree[fitted][1]} rows that were {name}.")
    print("\n| target | type | network | published | predicted | agrees | fitted | note |\n|---|---|---|---|---|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main(sys.argv[1])
