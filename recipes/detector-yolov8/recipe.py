# SPDX-License-Identifier: MIT
"""A YOLOv8n detector (NudeNet) with its decoding and suppression outside of the network, on photos without labels."""
import numpy as np

from _lib import compare, fetch, media
from _lib.recipe import Recipe, Sample, Score
from _lib.wheels import NUDENET

SIZE = 320
LEAST = 0.2  # the default of the package


def samples():
    calibration, evaluation = media.split_photos()
    return tuple([Sample({"images": media.tensor(image, 0, 1)}, group) for group, image in media.crops(places, count, SIZE, seed)]
                 for places, count, seed in ((calibration, 5, 1), (evaluation, 6, 2)))


def boxes(outputs):
    values = outputs["output0"][0].T
    centre, half, scores = values[:, :2], values[:, 2:4] / 2, values[:, 4:]
    corners = np.concatenate([centre - half, centre + half], axis=1)
    return compare.suppressed(corners, scores.max(axis=1), scores.argmax(axis=1), LEAST)


def score(outputs, sample, float_outputs):
    return {"box F1": compare.box_f1(boxes(outputs), boxes(float_outputs)), "tight box F1": compare.box_f1(boxes(outputs), boxes(float_outputs), 0.8)}


RECIPE = Recipe(kind="object detector (YOLOv8n)", network="320n.onnx of the wheel nudenet", source=NUDENET.label, licence="MIT, as the wheel states", data=media.PHOTO_DATA,
                model=lambda: fetch.extract(NUDENET, "nudenet/320n.onnx"), samples=samples,
                scores=(Score("box F1", "float model"), Score("tight box F1", "float model")), score=score)
