# SPDX-License-Identifier: MIT
"""Twofold super-resolution, trained by this script with least squares on photos; scored by PSNR on other photos."""
import numpy as np
from PIL import Image

from _lib import media, nets
from _lib.recipe import Recipe, Sample, Score

SIZE, FILTERS, SIDE = 48, 48, 5


def pairs(places, count, seed):
    """[(photo, small [48, 48], large [96, 96])] in grey, 0 to 1."""
    found = []
    for group, image in media.crops(places, count, 4 * SIZE, seed):
        large = image.convert("L").resize((2 * SIZE, 2 * SIZE), Image.Resampling.LANCZOS)
        small = large.resize((SIZE, SIZE), Image.Resampling.BICUBIC)
        found.append((group, *(np.asarray(one, np.float32) / 255 for one in (small, large))))
    return found


def patches(small):
    return np.lib.stride_tricks.sliding_window_view(np.pad(small, SIDE // 2), (SIDE, SIDE)).reshape(-1, SIDE * SIDE)


def model():
    """Filters of random patches, Relu, and a convolution found by least squares to the four pixels of each place."""
    random = np.random.default_rng(7)
    rows = pairs(media.split_photos()[0], 8, 3)
    inputs = np.concatenate([patches(small) for _, small, _ in rows]).astype(np.float64)
    targets = np.concatenate([large.reshape(SIZE, 2, SIZE, 2).transpose(0, 2, 1, 3).reshape(-1, 4) for *_, large in rows]).astype(np.float64)
    chosen = inputs[random.choice(len(inputs), FILTERS)]
    filters = random.normal(0, 0.3, (FILTERS, SIDE * SIDE)) * 0.3 + (chosen - chosen.mean(axis=1, keepdims=True))
    filters[0] = np.eye(SIDE * SIDE)[SIDE * SIDE // 2]
    filters /= np.abs(filters).sum(axis=1, keepdims=True)
    bias = np.quantile(-(inputs[::97] @ filters.T), 0.7, axis=0) * random.uniform(0, 1, FILTERS)
    bias[0] = 0
    hidden = np.maximum(inputs @ filters.T + bias, 0)
    last = nets.least_squares(np.concatenate([hidden, np.ones((len(hidden), 1))], axis=1), targets, 1e-6)
    weights = {"filters": filters.reshape(FILTERS, 1, SIDE, SIDE), "bias": bias, "last": last[:-1].T.reshape(4, FILTERS, 1, 1), "last_bias": last[-1]}
    nodes = [("Conv", ("small", "filters", "bias"), "features", {"pads": [SIDE // 2] * 4}), ("Relu", ("features",), "hidden", {}),
             ("Conv", ("hidden", "last", "last_bias"), "pixels", {}), ("DepthToSpace", ("pixels",), "large", {"blocksize": 2})]
    return nets.save("super-resolution", nodes, {name: value.astype(np.float32) for name, value in weights.items()}, {"small": [1, 1, SIZE, SIZE]},
                     {"large": [1, 1, 2 * SIZE, 2 * SIZE]})


def samples():
    calibration, evaluation = media.split_photos()
    return tuple([Sample({"small": small[None, None]}, group, large) for group, small, large in pairs(places, count, seed)]
                 for places, count, seed in ((calibration, 4, 1), (evaluation, 8, 2)))


def psnr(found, wanted):
    return float(min(60.0, -10 * np.log10(np.mean((np.clip(found, 0, 1) - wanted) ** 2) + 1e-12))), 1.0


def score(outputs, sample, float_outputs):
    return {"PSNR (truth)": psnr(outputs["large"][0, 0], sample.truth), "PSNR (float)": psnr(outputs["large"][0, 0], np.clip(float_outputs["large"][0, 0], 0, 1))}


RECIPE = Recipe(kind="super-resolution (CNN)", network="two convolutions and DepthToSpace, trained by the recipe", source="made by recipes/super-resolution/recipe.py",
                licence="MIT", data=media.PHOTO_DATA, model=model, samples=samples,
                scores=(Score("PSNR (truth)", "truth", is_share=False, unit="dB"), Score("PSNR (float)", "float model", is_share=False, unit="dB")), score=score)
