# SPDX-License-Identifier: MIT
"""A YOLOX detector of characters in pictures (ddddocr), on characters drawn over photos: their places are known."""
import numpy as np
from PIL import ImageDraw

from _lib import compare, fetch, media
from _lib.recipe import Recipe, Sample, Score
from _lib.wheels import DDDDOCR

SIZE = 416
LEAST = 0.1
LETTERS = "ABDEFGHKMNPQRSTUXYZ"


def drawn(image, fonts, random):
    """Boxes of three to six characters that are drawn on `image`, at most one in each of nine fields."""
    draw, boxes = ImageDraw.Draw(image), []
    for field in random.permutation(9)[:int(random.integers(3, 7))]:
        face = media.font(str(random.choice(fonts)), int(random.integers(55, 95)))
        place = (field % 3 * 138 + int(random.integers(4, 30)), field // 3 * 138 + int(random.integers(0, 20)))
        letter = LETTERS[int(random.integers(len(LETTERS)))]
        draw.text(place, letter, font=face, fill=tuple(int(value) for value in random.integers(0, 256, 3)), stroke_width=2, stroke_fill=(255, 255, 255))
        boxes.append(draw.textbbox(place, letter, font=face, stroke_width=2))
    return np.asarray(boxes, np.float32)


def made(places, count, fonts, seed):
    random, found = np.random.default_rng(seed), []
    for group, image in media.crops(places, count, SIZE, seed):
        truth = drawn(image, fonts, random)
        found.append(Sample({"images": media.tensor(image, 0, 1, scale=1, bgr=True)}, group, truth))
    return found


def samples():
    calibration, evaluation = media.split_photos()
    return made(calibration, 2, media.CALIB_FONTS, 1), made(evaluation, 4, media.EVAL_FONTS, 2)


def boxes(outputs):
    values, grids, strides = outputs["output"][0], [], []
    for stride in (8, 16, 32):
        side = SIZE // stride
        grids.append(np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=2).reshape(-1, 2))
        strides.append(np.full((side * side, 1), stride))
    centre, half = (values[:, :2] + np.concatenate(grids)) * np.concatenate(strides), np.exp(values[:, 2:4]) * np.concatenate(strides) / 2
    scores = values[:, 4] * values[:, 5]
    return compare.suppressed(np.concatenate([centre - half, centre + half], axis=1), scores, np.zeros(len(scores), int), LEAST)


def score(outputs, sample, float_outputs):
    truth = (sample.truth, np.zeros(len(sample.truth), int))
    return {"box F1 (truth)": compare.box_f1(boxes(outputs), truth), "box F1 (float)": compare.box_f1(boxes(outputs), boxes(float_outputs))}


RECIPE = Recipe(kind="object detector (YOLOX)", network="common_det.onnx of the wheel ddddocr", source=DDDDOCR.label, licence="MIT, as the wheel states",
                data=f"characters drawn on {media.PHOTO_DATA}", model=lambda: fetch.extract(DDDDOCR, "ddddocr/common_det.onnx"), samples=samples,
                scores=(Score("box F1 (truth)", "truth"), Score("box F1 (float)", "float model")), score=score)
