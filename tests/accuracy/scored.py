# SPDX-License-Identifier: MIT
"""Networks of ../shared with what they are calibrated with and scored on: one record for each photo, so that an interval of the score can be drawn.

A score is a function of a list of records. Networks without truths are compared with the float model: its boxes, classes of pixels or values are the truth.
"""
import collections
import csv
import glob
import os

import numpy as np

from labelled import PHOTOS
from run import SAMPLES, SHARED, TRAINED
from score_results import DATA, eval_rows, harmonic_mean, is_exact, text_boxes

OVERLAPS = np.arange(.5, .96, .05)
RECALLS = np.linspace(0, 1, 101)

Sample = collections.namedtuple("Sample", "feed truth")
Network = collections.namedtuple("Network", "measure calib samples record score")


# Records and scores.

def mean_percent(records):
    return 100 * float(np.mean(records))


def right_class(outputs, truth, _):
    return float(outputs[0].reshape(-1)[-1000:].argmax() == truth)


def same_class(outputs, _, floats):
    return float(outputs[0].argmax() == floats[0].argmax())


def hits(boxes, scores, truth, most):
    """Scores in descending order, whether each box is right at each overlap, and the number of true boxes."""
    from det_score import iou  # pylint: disable=import-error
    order = np.argsort(-scores, kind="stable")[:most]
    overlaps = iou(boxes[order], truth) if len(order) and len(truth) else np.zeros((len(order), len(truth)))
    right = np.zeros((len(OVERLAPS), len(order)), bool)
    for row, least in zip(right, OVERLAPS):
        free = np.ones(len(truth), bool)
        for number, one in enumerate(overlaps):
            if not free.any():
                break
            best = int(np.where(free, one, -1).argmax())
            row[number] = one[best] >= least - 1e-10
            free[best] &= not row[number]
    return scores[order], right, len(truth)


def box_record(found, truth, most=100):
    """By class, of at most `most` boxes each, as COCO counts. `found` has boxes, scores, classes; `truth` boxes, classes."""
    classes = set(truth[1].astype(int)) | set(found[2].astype(int))
    return {one: hits(found[0][found[2] == one], found[1][found[2] == one], truth[0][truth[1] == one], most) for one in classes}


def average_precisions(records, overlaps):
    """Mean over the classes that are there of the 101-point precision, in percent."""
    found = []
    for one in {one for record in records for one, row in record.items() if row[2]}:
        rows = [record[one] for record in records if one in record]
        order = np.argsort(-np.concatenate([row[0] for row in rows]), kind="mergesort")
        true = sum(row[2] for row in rows)
        for right in np.concatenate([row[1] for row in rows], axis=1)[overlaps][:, order]:
            count = np.cumsum(right)
            precision = np.maximum.accumulate((count / np.arange(1, len(count) + 1))[::-1])[::-1]
            place = np.searchsorted(count / true, RECALLS, side="left")
            found.append(np.where(place < len(count), np.append(precision, 0)[np.minimum(place, len(count))], 0).mean())
    return 100 * float(np.mean(found))


def mean_average_precision(records):
    return average_precisions(records, slice(None))


def precision_at_half(records):
    return average_precisions(records, slice(0, 1))


def signal_to_noise(peak, output=0):
    return lambda outputs, _, floats: 10 * np.log10(peak ** 2 / max(float(np.mean((outputs[output] - floats[output]) ** 2)), 1e-12))


def cosine_of(output):
    def record(outputs, _, floats):
        a, b = (one[output].astype(np.float64).reshape(-1) for one in (outputs, floats))
        return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b) + 1e-30))
    return record


def pixel_classes(outputs, _, floats):
    pairs = floats[0].argmax(-1).reshape(-1) * 21 + outputs[0].argmax(-1).reshape(-1)
    return np.bincount(pairs, minlength=21 * 21).reshape(21, 21)


def mean_overlap(records):
    """Mean IoU in percent, over the classes that the float model finds."""
    table = np.sum(records, axis=0)
    right, seen = np.diag(table), table.sum(1) > 0
    return 100 * float(np.mean((right / np.maximum(table.sum(0) + table.sum(1) - right, 1))[seen]))


# Boxes of detectors whose truth is what the float model finds.

def suppressed(boxes, scores, least):
    """`scores` has a column for each class."""
    from det_score import nms  # pylint: disable=import-error
    place, kind = np.where(scores > least)
    keep = nms(boxes[place], scores[place, kind], kind, thr=.5)
    return boxes[place][keep], scores[place, kind][keep], kind[keep]


def nanodet_boxes(outputs):
    boxes = []
    for distances in outputs[3:]:
        side = round(distances.shape[1] ** .5)
        bins = np.exp(distances[0].reshape(-1, 4, 8) - distances[0].reshape(-1, 4, 8).max(-1, keepdims=True))
        reach = (bins / bins.sum(-1, keepdims=True)) @ np.arange(8)
        y, x = np.divmod(np.arange(side * side), side)
        boxes.append(np.stack([x - reach[:, 0], y - reach[:, 1], x + reach[:, 2], y + reach[:, 3]], 1) * (416 / side))
    return np.concatenate(boxes), np.concatenate([one[0] for one in outputs[:3]])


def fastestdet_boxes(outputs):
    cells = outputs[0][0].reshape(85, -1).T
    y, x = np.divmod(np.arange(22 * 22), 22)
    center = np.stack([x, y], 1) + np.tanh(cells[:, 1:3])
    size = 22 / (1 + np.exp(-cells[:, 3:5]))
    return np.concatenate([center - size / 2, center + size / 2], 1), cells[:, :1].clip(0) ** .6 * cells[:, 5:].clip(0) ** .4


def ultraface_boxes(outputs):
    return outputs[1][0] * 320, outputs[0][0][:, 1:]


def agreeing_boxes(decode):
    def record(outputs, _, floats):
        truth = suppressed(*decode(floats), .3)
        return box_record(suppressed(*decode(outputs), .05), (truth[0], truth[2]), most=300)
    return record


# Photos.

def images(part):
    return sorted(glob.glob(os.path.join(SHARED, "data", part, "*.jpg")))


def coco(part):
    return sorted(glob.glob(os.path.join(DATA, part, "**", "*.jpg"), recursive=True))


def prepared(paths, prepare):
    from PIL import Image
    for path in paths:
        with Image.open(path) as image:
            yield np.ascontiguousarray(prepare(image.convert("RGB"))[None].astype(np.float32))


def unlabelled(name, measure, calib, evaluated, record, score, more=None):
    def feeds(paths):
        from photos import PREPROCESSING  # pylint: disable=import-error
        return ({"": array, **(more or {})} for array in prepared(paths, PREPROCESSING[name]))
    return Network(measure, lambda: feeds(calib()), lambda: (Sample(one, None) for one in feeds(evaluated())), record, score)


def calibration(name):
    from photos import PREPROCESSING  # pylint: disable=import-error
    feeds = SAMPLES[name] if name in SAMPLES else lambda: prepared(images("calib"), PREPROCESSING[name])
    return lambda: ({"": one} for one in feeds())


def imagenet(name):
    from cls_score import prep  # pylint: disable=import-error
    resize, interpolation = PHOTOS[name]
    settings = {"size": 224, "resize": resize, "interp": interpolation, "mean": [.5] * 3, "std": [.5] * 3}

    def samples():
        with open(os.path.join(DATA, "imagenet", "labels.csv"), encoding="utf-8") as file:
            for row in csv.DictReader(file):
                yield Sample({"": prep(os.path.join(DATA, "imagenet", "images", row["file"]), settings)}, int(row["class"]))
    return Network("top-1 %", calibration(name), samples, right_class, mean_percent)


def shared_labels(name):
    """Classifiers of score_labelled.py."""
    import score_labelled  # pylint: disable=import-error

    def calib():
        for path in sorted(glob.glob(os.path.join(SHARED, "golden", "inputs", name, "calib", "*.npy"))):
            yield {"": np.load(path)}
    return Network("top-1 %", calib if "digits" in name else calibration(name),
                   lambda: (Sample({"": feed}, truth) for feed, truth in zip(*score_labelled.labelled(name))), right_class, mean_percent)


def yolo():
    from det_score import letterbox, load_gt, post  # pylint: disable=import-error
    from PIL import Image

    def samples():
        for name, truth in sorted(load_gt(os.path.join(DATA, "coco_val", "gt.json")).items()):
            with Image.open(os.path.join(DATA, "coco_val", "images", name)) as image:
                array, ratio, left, top = letterbox(image, 640)
                yield Sample({"": np.ascontiguousarray(array.astype(np.float32).transpose(2, 0, 1)[None] / 255)}, (truth, ratio, left, top, *image.size))

    def record(outputs, sample, _):
        truth, *place = sample
        return box_record(post(outputs[0], "v5", *place), truth)
    return Network("mAP", calibration("yolov5n_640"), samples, record, mean_average_precision)


def scenes_of_text():
    from ocr_score import det_prep  # pylint: disable=import-error
    return Network("h-mean", calibration("ppocrv4_det"), lambda: (
        Sample({"": det_prep(os.path.join(DATA, "text_scenes", row["file"]), [.5] * 3, [.5] * 3)}, np.array(row["boxes"], float))
        for row in eval_rows("text_scenes")), lambda outputs, truth, _: text_boxes(outputs[0], truth), lambda records: 100 * harmonic_mean(records))


def lines_of_text():
    from ocr_score import rec_prep  # pylint: disable=import-error
    return Network("exact lines %", calibration("ppocrv4_rec"), lambda: (
        Sample({"": rec_prep(os.path.join(DATA, "text_lines", row["file"]))}, row["text"]) for row in eval_rows("text_lines")), lambda outputs, truth, _: float(is_exact(outputs[0], truth)), mean_percent)


def mean(records):
    return float(np.mean(records))


def detector(name, decode, evaluated=lambda: coco("coco_val")):
    return unlabelled(name, "AP50 with float boxes as truth", lambda: coco("coco_calib"), evaluated, agreeing_boxes(decode), precision_at_half)


def picture(name, measure, record, score=mean, evaluated=lambda: images("eval")[:24], more=None):
    return unlabelled(name, measure, lambda: images("calib")[:32], evaluated, record, score, more)


NETWORKS = {
    "yolov5n_640": yolo,
    "nanodet_m_416": lambda: detector("nanodet_m_416", nanodet_boxes),
    "fastestdet_352": lambda: detector("fastestdet_352", fastestdet_boxes),
    "ultraface_rfb_320": lambda: detector("ultraface_rfb_320", ultraface_boxes, lambda: images("faces")),
    "mobilenet_v1_075_224": lambda: imagenet("mobilenet_v1_075_224"),
    "efficientnet_lite0_224": lambda: shared_labels("efficientnet_lite0_224"),
    "squeezenet1_1": lambda: shared_labels("squeezenet1_1"),
    "resnet8_cifar10": lambda: unlabelled("resnet8_cifar10", "agreement %", lambda: images("calib"), lambda: images("eval"), same_class, mean_percent),
    "mobilenetv3_digits": lambda: shared_labels("mobilenetv3_digits"),
    "ppocrv4_det": scenes_of_text,
    "ppocrv4_rec": lines_of_text,
    "vit_tiny_224": lambda: imagenet("vit_tiny_224"),
    "superres_x3": lambda: picture("superres_x3", "PSNR dB", signal_to_noise(1)),
    "style_candy_256": lambda: picture("style_candy_256", "PSNR dB", signal_to_noise(255)),
    "tbefn_240x320": lambda: picture("tbefn_240x320", "PSNR dB", signal_to_noise(1)),
    "deeplabv3_mnv2_voc_257": lambda: picture("deeplabv3_mnv2_voc_257", "mIoU %", pixel_classes, mean_overlap),
    "mlsd_tiny_320": lambda: picture("mlsd_tiny_320", "cosine of Identity_2", cosine_of(2)),
    "lstr_360x640": lambda: picture("lstr_360x640", "cosine of pred_curves", cosine_of(1), evaluated=lambda: [*images("lanes"), *images("eval")[:8]],
                                    more={"input_mask": np.zeros((1, 1, 360, 640), np.float32)}),
}
