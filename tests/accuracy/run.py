#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Labelled scores of the trained networks: float, quantized as it comes (--on-collapse warn), and with the rescue.

    run.py [--check] [--networks NAME ...] [--presets NAME ...] [--photos]
    run.py --sets N --networks NAME --presets NAME

Writes tests/accuracy/results.json and prints a table. --check writes nothing and fails where a score is more than --slack points below the
recorded one. --photos: shared classifiers are calibrated with the 128 photos of ../shared/data in place of 8, and recorded as PRESET_128. --sets: a shared classifier is
calibrated with N sets of 8 of these photos; the scores are printed, with ranges as the photos show them and in default mode, not recorded.
Needs ../shared/trained, and numpy, pillow, scipy and onnxruntime; QUARKQ names the program. No sample that is scored is
calibrated with.
"""
import argparse
import glob
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.path.join(ROOT, "..", "shared")
TRAINED = os.path.join(SHARED, "trained")
RESULTS = os.path.join(ROOT, "tests", "accuracy", "results.json")
sys.path.insert(0, os.path.join(TRAINED, "_lib"))
sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))

# Which number of score.py (of score_labelled.py for shared models) counts, and how many points one unit of it is.
MEASURES = {"vit_tiny_224": ("top1", 1), "mobilenet_v1_075_224": ("top1", 1), "yolov5n_640": ("mAP", 100), "ppocrv4_rec": ("exact", 1),
            "ppocrv4_det": ("hmean", 1)}
SHARED_MEASURES = {"efficientnet_lite0_224": ("top1", 100), "squeezenet1_1": ("top1", 100), "vit_digits": ("top1", 100),
                   "mobilenetv3_digits": ("top1", 100), "grid_detector": ("f1", 100)}
PRESETS = ["a8w8", "xint8"]
# What --presets takes beside the names of presets.
FOUR_BITS = ["--set", "weight_type=QInt4", "--set", "per_channel=true", "--set", "ConvertOpsetVersion=21"]
VARIANTS = {"w4a8": ["a8w8", *FOUR_BITS], "w4a8_block": ["a8w8_block", *FOUR_BITS]}
TRAINING = ("_block", "_adaround", "_adaquant")


def photos(resize, interpolation):
    import cls_score  # pylint: disable=import-error
    settings = {"size": 224, "resize": resize, "interp": interpolation, "mean": [0.5] * 3, "std": [0.5] * 3}
    for path in sorted(glob.glob(os.path.join(SHARED, "data", "calib", "*.jpg")))[:64]:
        yield cls_score.prep(path, settings)


def text_lines():
    import ocr_score  # pylint: disable=import-error
    for path in sorted(glob.glob(os.path.join(TRAINED, "_data", "text_lines", "calib_*.png")))[:64]:
        yield ocr_score.rec_prep(path)


def text_scenes():
    import ocr_score  # pylint: disable=import-error
    folder = os.path.join(TRAINED, "_data", "text_scenes")
    with open(os.path.join(folder, "labels.json"), encoding="utf-8") as file:
        names = [row["file"] for row in json.load(file) if row["set"] != "eval"]
    for name in names[:32]:
        yield ocr_score.det_prep(os.path.join(folder, name), [0.5] * 3, [0.5] * 3)


def scenes():
    import det_score  # pylint: disable=import-error
    from PIL import Image
    for path in sorted(glob.glob(os.path.join(TRAINED, "_data", "coco_calib", "**", "*.jpg"), recursive=True))[:32]:
        with Image.open(path) as image:
            pixels = det_score.letterbox(image, 640)[0]
        yield np.ascontiguousarray((pixels.astype(np.float32) / 255).transpose(2, 0, 1)[None])


SAMPLES = {"vit_tiny_224": lambda: photos(248, "bicubic"), "mobilenet_v1_075_224": lambda: photos(256, "bilinear"), "yolov5n_640": scenes,
           "ppocrv4_rec": text_lines, "ppocrv4_det": text_scenes}


def model_of(network):
    if network in SHARED_MEASURES:
        return os.path.join(SHARED, "models", network + ".onnx")
    return os.path.join(TRAINED, network, network + ".onnx")


def write_samples(network, folder, with_photos=False):
    if with_photos:
        from photos import make_samples  # pylint: disable=import-error
        make_samples(network, folder)
        return
    if network in SHARED_MEASURES:
        shutil.copytree(os.path.join(SHARED, "golden", "inputs", network, "calib"), folder)
        return
    os.mkdir(folder)
    for number, sample in enumerate(SAMPLES[network]()):
        np.save(os.path.join(folder, f"{number:04d}.npy"), sample)


def score(network, model):
    script = [os.path.join(TRAINED, network, "score.py")]
    if network in SHARED_MEASURES:
        script = [os.path.join(SHARED, "tools", "score_labelled.py"), network]
    result = subprocess.run([sys.executable, *script, model], capture_output=True, text=True, check=True)
    key, points = {**MEASURES, **SHARED_MEASURES}[network]
    return round(json.loads(result.stdout.strip().splitlines()[-1])[key] * points, 2)


def quantize(network, preset, calib, folder, *more):
    """Score, seconds, cosine and what the rescue did."""
    output, report = os.path.join(folder, "q.onnx"), os.path.join(folder, "r.json")
    program = os.environ.get("QUARKQ", os.path.join(ROOT, "build", "release", "quarkq"))
    model = model_of(network)
    start = time.monotonic()
    subprocess.run([program, "quantize", model, "--config", *VARIANTS.get(preset, [preset]), "--target", "none", "--calib", calib, "-o", output, "--report", report, "--quiet", *more], check=True)
    seconds = time.monotonic() - start
    with open(report, encoding="utf-8") as file:
        found = json.load(file)
    rescue = found["rescue"]
    said = rescue and {"settings": [one for one in rescue["settings"] if len(one) < 60], "per_channel": rescue["channel_scales"], "in_16_bits": len(rescue["tensors_in_16_bits"]),
                       "float_nodes": len(rescue["float_nodes"]) + rescue["unnamed_float_nodes"], "float_macs": round(rescue["float_macs"], 3)}
    return {"score": score(network, output), "seconds": round(seconds, 2), "cosine": round(min(one["cosine"] for one in found["outputs"]), 4),
            "rescue": said}


def measure(network, presets, with_photos):
    with tempfile.TemporaryDirectory() as folder:
        calib = os.path.join(folder, "calib")
        write_samples(network, calib, with_photos)
        found = {"float": score(network, model_of(network))}
        for preset in presets:
            now = {}
            if not preset.endswith(TRAINING):  # which would train twice
                now["plain"] = quantize(network, preset, calib, folder, "--on-collapse", "warn")
            now["default"] = quantize(network, preset, calib, folder)
            found[preset + ("_128" if with_photos else "")] = now
            said = ", ".join(f"{way} {one['score']} ({one['seconds']} s)" for way, one in now.items())
            print(f"{network} {preset}: float {found['float']}, {said}, {now['default']['rescue']}", flush=True)
    return found


def measure_sets(network, preset, sets):
    ways = {"as observed": ["--set", "quarkq.range_headroom=1"], "default": []}
    scores = {way: [] for way in ways}
    with tempfile.TemporaryDirectory() as folder:
        every = os.path.join(folder, "photos")
        write_samples(network, every, with_photos=True)
        files = sorted(glob.glob(os.path.join(every, "*")))
        step = len(files) // 8
        for number in range(min(sets, step)):
            calib = os.path.join(folder, f"set{number}")
            os.mkdir(calib)
            for file in files[number::step][:8]:
                shutil.copy(file, calib)
            for way, more in ways.items():
                scores[way].append(quantize(network, preset, calib, folder, *more)["score"])
    for way, found in scores.items():
        print(f"{network} {preset} {way}: mean {np.mean(found):.1f} of {len(found)} sets of 8 photos, {found}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--slack", type=float, default=1.5)
    parser.add_argument("--networks", nargs="+", default=[*MEASURES, *SHARED_MEASURES])
    parser.add_argument("--presets", nargs="+", default=PRESETS)
    parser.add_argument("--photos", action="store_true")
    parser.add_argument("--sets", type=int)
    options = parser.parse_args()
    if not os.path.isdir(TRAINED):
        print("skip accuracy: ../shared/trained is not there")
        return 0
    if options.sets:
        for network in options.networks:
            for preset in options.presets:
                measure_sets(network, preset, options.sets)
        return 0
    recorded = {}
    if os.path.exists(RESULTS):
        with open(RESULTS, encoding="utf-8") as file:
            recorded = json.load(file)
    failed = 0
    for network in options.networks:
        found = measure(network, options.presets, options.photos)
        if not options.check:
            recorded.setdefault("machine", f"{platform.machine()}, {os.cpu_count()} cores")
            recorded.setdefault("networks", {}).setdefault(network, {}).update(found)
            with open(RESULTS, "w", encoding="utf-8") as file:
                file.write(json.dumps(recorded, indent=1) + "\n")
            continue
        for preset in [key for key in found if key != "float"]:
            before = recorded.get("networks", {}).get(network, {}).get(preset)
            if before is None:
                failed += 1
                print(f"FAIL accuracy.{network}.{preset}: no score is recorded")
                continue
            wanted, now = before["default"]["score"], found[preset]["default"]["score"]
            good = now >= wanted - options.slack
            failed += not good
            print(f"{'ok' if good else 'FAIL'} accuracy.{network}.{preset}: {now}, recorded {wanted}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
