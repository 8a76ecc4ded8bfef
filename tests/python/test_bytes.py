# SPDX-License-Identifier: MIT
"""Python writes the bytes that the program writes."""
import os

import quarkq

from harness import expect, quantize, read_bytes, temp_folder, test
from samples import DIGITS, DIGITS_MODEL, golden_inputs, load_folder, shared

MODELS = ["digits", "resnet8_cifar10", "mobilenetv1_025_vww_96", "superres_x3", "silero_vad_16k"]
PRESETS = ["xint8", "vint8", "a8w8", "a16w8", "int8_cnn_default", "bf16"]


@test(cases=MODELS)
def same_bytes_as_the_program(model):
    path = DIGITS_MODEL if model == "digits" else shared("models", model + ".onnx")
    folder = os.path.join(DIGITS, "calib") if model == "digits" else golden_inputs(model)
    samples = load_folder(folder)
    differ = []
    with temp_folder() as work:
        for preset in PRESETS:
            wanted, found = os.path.join(work, "program.onnx"), os.path.join(work, "python.onnx")
            quantize(path, wanted, folder, preset)
            quarkq.quantize(path, found, config=preset, data=samples)
            if read_bytes(wanted) != read_bytes(found):
                differ.append(preset)
    expect(not differ, f"{model}: other bytes with {', '.join(differ)}")
    return f"{len(PRESETS)} presets"


@test()
def data_ways_give_the_same_bytes():
    folder = os.path.join(DIGITS, "calib")
    samples = load_folder(folder)
    ways = {"folder": folder, "list": samples, "generator": (sample for sample in samples),
            "dicts": [{"image": sample} for sample in samples]}
    name = quarkq.inspect(DIGITS_MODEL)["inputs"][0]["name"]
    ways["dicts"] = [{name: sample} for sample in samples]
    results = {way: quarkq.quantize(read_bytes(DIGITS_MODEL), config="a8w8", data=data).model for way, data in ways.items()}
    expect(all(results.values()), "a result is missing")
    expect(len(set(results.values())) == 1, f"results differ: {[(way, len(model)) for way, model in results.items()]}")
