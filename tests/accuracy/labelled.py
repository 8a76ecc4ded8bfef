# SPDX-License-Identifier: MIT
"""What quarkq tune calibrates with and judges by, for the networks of ../shared that have truths: options of the program."""
import csv
import json
import os
import subprocess
import sys

import numpy as np

import speech
from run import SAMPLES, SHARED, TRAINED, write_samples

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "score_results.py")
AUDIO = os.path.join(SHARED, "data", "audio")
CLEAN = os.path.join(AUDIO, "speech_eval_16k.wav")
DATA = os.path.join(TRAINED, "_data")
COMPARISONS = ("cosine", "sqnr")
LOWER = ("bits_per_character",)
PHOTOS = {"vit_tiny_224": (248, "bicubic"), "mobilenet_v1_075_224": (256, "bilinear")}
SCENES = {"ppocrv3_det": ([.485, .456, .406], [.229, .224, .225]), "ppocrv4_det": ([.5] * 3, [.5] * 3)}


def model_of(network):
    shared = os.path.join(SHARED, "models", network + ".onnx")
    return shared if os.path.exists(shared) else os.path.join(TRAINED, network, network + ".onnx")


def save(folder, number, sample):
    os.makedirs(folder, exist_ok=True)
    np.save(os.path.join(folder, f"{number:04d}.npy"), sample)


def text_scenes(network, kind, folder):
    from ocr_score import det_prep  # pylint: disable=import-error
    data = os.path.join(DATA, "text_scenes")
    with open(os.path.join(data, "labels.json"), encoding="utf-8") as file:
        rows = [row for row in json.load(file) if (row["set"] == "eval") == (kind == "eval")]
    for number, row in enumerate(rows):
        save(folder, number, det_prep(os.path.join(data, row["file"]), *SCENES[network]))


def calibration(network, folder):
    """The folder of calibration samples."""
    if network == "gtcrn_stream":
        speech.write_samples(model_of(network), os.path.join(AUDIO, "speech_calib_16k.wav"), folder, every=5)
    elif network in SCENES:
        text_scenes(network, "calib", folder)
    elif network in SAMPLES:
        write_samples(network, folder)
    else:
        return os.path.join(SHARED, "golden", "inputs", network, "calib")
    return folder


def photos(network, folder):
    from cls_score import prep  # pylint: disable=import-error
    resize, interpolation = PHOTOS[network]
    settings = {"size": 224, "resize": resize, "interp": interpolation, "mean": [.5] * 3, "std": [.5] * 3}
    with open(os.path.join(DATA, "imagenet", "labels.csv"), encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    labels = os.path.join(os.path.dirname(folder), "labels.txt")
    for number, row in enumerate(rows):
        save(folder, number, prep(os.path.join(DATA, "imagenet", "images", row["file"]), settings))
    with open(labels, "w", encoding="utf-8") as file:
        file.writelines(f"{row['class']}\n" for row in rows)
    return ["--metric", "top1", "--labels", labels]


def scenes(folder):
    """COCO's boxes moved as the letterbox moves them, which leaves overlaps as they are."""
    from det_score import letterbox, load_gt  # pylint: disable=import-error
    from PIL import Image
    truth = {"images": [], "annotations": [], "categories": [{"id": one, "name": str(one)} for one in range(80)]}
    for number, (name, (boxes, classes)) in enumerate(sorted(load_gt(os.path.join(DATA, "coco_val", "gt.json")).items())):
        with Image.open(os.path.join(DATA, "coco_val", "images", name)) as image:
            pixels, ratio, left, top = letterbox(image, 640)
        save(folder, number, np.ascontiguousarray((pixels.astype(np.float32) / 255).transpose(2, 0, 1)[None]))
        truth["images"].append({"id": number, "file_name": f"{number:04d}.jpg", "width": 640, "height": 640})
        for (x1, y1, x2, y2), category in zip(boxes * ratio + [left, top, left, top], classes):
            truth["annotations"].append({"id": len(truth["annotations"]) + 1, "image_id": number, "category_id": int(category), "iscrowd": 0,
                                         "bbox": [x1, y1, x2 - x1, y2 - y1], "area": (x2 - x1) * (y2 - y1)})
    labels = os.path.join(os.path.dirname(folder), "instances.json")
    with open(labels, "w", encoding="utf-8") as file:
        json.dump(truth, file)
    return ["--metric", "map", "--head", "yolov5", "--labels", labels]


def text_lines(folder):
    from ocr_score import rec_prep  # pylint: disable=import-error
    data = os.path.join(DATA, "text_lines")
    with open(os.path.join(data, "labels.json"), encoding="utf-8") as file:
        rows = [row for row in json.load(file) if row["set"] == "eval"]
    for number, row in enumerate(rows):
        save(folder, number, rec_prep(os.path.join(data, row["file"])))


def by_command(network, measure):
    command = f"'{sys.executable}' '{SCRIPT}' {network} {measure} {{results}}"
    return ["--metric-cmd", command, *(["--lower-is-better"] if measure in LOWER else [])]


def judged_by(network, measure, folder):
    """Options that say what trials are judged by. Files go to `folder`."""
    inputs = os.path.join(folder, "eval")
    if measure in COMPARISONS:
        return ["--eval", os.path.join(SHARED, "golden", "inputs", network, "eval"), "--metric", measure]
    if network in PHOTOS:
        return ["--eval", inputs, *photos(network, inputs)]
    if network == "yolov5n_640":
        return ["--eval", inputs, *scenes(inputs)]
    if network == "gtcrn_stream":
        speech.write_samples(model_of(network), CLEAN, inputs)
    elif network == "ppocrv4_rec":
        text_lines(inputs)
    elif network in SCENES:
        text_scenes(network, "eval", inputs)
    else:
        subprocess.run([sys.executable, os.path.join(SHARED, "tools", "score_labelled.py"), network, "--export", inputs], check=True)
    return ["--eval", inputs, *by_command(network, measure)]


def more_about(network, model):
    """What is worth knowing of the result beyond the measure: gtcrn fed with its own caches."""
    if network != "gtcrn_stream":
        return {}
    return {"float_streamed": speech.streamed(model_of(network), CLEAN), "streamed": speech.streamed(model, CLEAN)}
