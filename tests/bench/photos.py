# SPDX-License-Identifier: MIT
"""Photos of ../shared/data as the shared networks want them (../shared/models/README.md)."""
import glob
import os

import numpy as np
from PIL import Image

from compare_ort import SHARED


def center_square(image):
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    return image.crop((left, top, left + side, top + side))


def pixels(image, width, height=None):
    return np.asarray(image.resize((width, height or width), Image.BILINEAR), np.float32)


def planes(array):
    return array.transpose(2, 0, 1)


def squeezenet(image):
    scale = 256 / min(image.size)
    image = image.resize((round(image.width * scale), round(image.height * scale)), Image.BILINEAR)
    left, top = (image.width - 224) // 2, (image.height - 224) // 2
    return planes(np.asarray(image.crop((left, top, left + 224, top + 224)), np.float32)[:, :, ::-1] - (104, 117, 123))


def nanodet(image):
    return planes((pixels(image, 416)[:, :, ::-1] - (103.53, 116.28, 123.675)) / (57.375, 57.12, 58.395))


def mlsd(image):
    return np.concatenate([pixels(image, 320)[:, :, ::-1], np.ones((320, 320, 1))], axis=2)


PREPROCESSING = {
    "resnet8_cifar10": lambda image: planes(np.asarray(center_square(image).resize((32, 32), Image.BOX), np.float32)),
    "efficientnet_lite0_224": lambda image: planes((pixels(image, 224) - 127) / 128),
    "squeezenet1_1": squeezenet,
    "mobilenetv1_025_vww_96": lambda image: planes(pixels(center_square(image), 96) / 255),
    "nanodet_m_416": nanodet,
    "mlsd_tiny_320": mlsd,
    "fastestdet_352": lambda image: planes(pixels(image, 352)[:, :, ::-1] / 255),
    "ultraface_rfb_320": lambda image: planes((pixels(image, 320, 240) - 127) / 128),
    "superres_x3": lambda image: np.asarray(image.convert("YCbCr").resize((224, 224)), np.float32)[None, :, :, 0] / 255,
    "style_candy_256": lambda image: planes(pixels(image, 256)[:, :, ::-1]),
    "tbefn_240x320": lambda image: planes(pixels(image, 320, 240) / 255 * .2),
    "deeplabv3_mnv2_voc_257": lambda image: pixels(image, 257) / 127.5 - 1,
    "lstr_360x640": lambda image: planes((pixels(image, 640, 360)[:, :, ::-1] / 255 - (.485, .456, .406)) / (.229, .224, .225)),
}


def make_samples(model, folder, part="calib"):
    """folder/NAME.npy with batch 1 of each photo; `part`: "calib" (128 photos) or "eval" (144 others)."""
    os.makedirs(folder, exist_ok=True)
    for path in sorted(glob.glob(os.path.join(SHARED, "data", part, "*"))):
        with Image.open(path) as image:
            array = PREPROCESSING[model](image.convert("RGB"))
        np.save(os.path.join(folder, os.path.splitext(os.path.basename(path))[0] + ".npy"), np.ascontiguousarray(array[None].astype(np.float32)))
