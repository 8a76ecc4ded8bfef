# SPDX-License-Identifier: MIT
"""Photos, fonts and rendered text for the samples. Everything comes from wheels; nothing is stored in the repository."""
import functools
import io

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from . import fetch
from .wheels import MATPLOTLIB, SCIKIT_IMAGE, SCIKIT_LEARN

# Photos in a fixed order. Every second one calibrates, the others are scored.
PHOTOS = [(SCIKIT_IMAGE, f"skimage/data/{name}") for name in
          ("astronaut.png", "brick.png", "camera.png", "chelsea.png", "coffee.png", "coins.png", "grass.png", "gravel.png", "hubble_deep_field.jpg", "ihc.png",
           "moon.png", "motorcycle_left.png", "page.png", "retina.jpg", "rocket.jpg", "text.png")]
PHOTOS += [(SCIKIT_LEARN, "sklearn/datasets/images/china.jpg"), (SCIKIT_LEARN, "sklearn/datasets/images/flower.jpg"),
           (MATPLOTLIB, "matplotlib/mpl-data/sample_data/grace_hopper.jpg"), (SCIKIT_IMAGE, "skimage/data/clock_motion.png")]
PHOTO_DATA = "photos of the wheels scikit-image, scikit-learn and matplotlib"
FONT_FOLDER = "matplotlib/mpl-data/fonts/ttf/"
CALIB_FONTS = ("DejaVuSans", "DejaVuSerif-Bold", "DejaVuSansMono", "STIXGeneral", "cmss10", "DejaVuSans-BoldOblique", "STIXGeneralBolIta", "cmtt10")
EVAL_FONTS = ("DejaVuSerif", "DejaVuSans-Bold", "DejaVuSansMono-Bold", "STIXGeneralBol", "cmr10", "DejaVuSerif-Italic", "STIXGeneralItalic", "DejaVuSansMono-Oblique",
              "DejaVuSans-Oblique", "DejaVuSerif-BoldItalic", "cmb10", "DejaVuSansMono-BoldOblique")
FONT_DATA = "text rendered in fonts of the wheel matplotlib (DejaVu, STIX, Computer Modern)"
WORDS = ("invoice total river garden window market silver planet coffee bridge number signal copper winter orange letter paper mountain station engine "
         "doctor museum forest kitchen village summer pencil travel harbour science music travel minute second report answer question double simple early").split()


@functools.cache
def photo(place):
    wheel, member = place
    return Image.open(io.BytesIO(fetch.read(wheel, member))).convert("RGB")


def crops(places, count, size, seed):
    """[(group, image)]: `count` crops of each photo, random in place, scale, mirror and brightness, resized to `size` x `size`."""
    random, found = np.random.default_rng(seed), []
    for place in places:
        whole = photo(place)
        for _ in range(count):
            side = int(min(whole.size) * random.uniform(0.5, 1.0))
            left, top = (int(random.integers(0, length - side + 1)) for length in whole.size)
            image = whole.crop((left, top, left + side, top + side)).resize((size, size), Image.Resampling.BILINEAR)
            if random.random() < 0.5:
                image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
            gain = random.uniform(0.7, 1.3)
            found.append((place[1].split("/")[-1], image.point(lambda value, gain=gain: min(255, int(value * gain)))))
    return found


def split_photos():
    """(photos for calibration, photos for scores)"""
    return PHOTOS[1::2], PHOTOS[0::2]


@functools.cache
def font(name, size):
    return ImageFont.truetype(io.BytesIO(fetch.read(MATPLOTLIB, FONT_FOLDER + name + ".ttf")), size)


def words(random, count):
    return " ".join(str(word) for word in random.choice(WORDS, count))


def line(text, name, size, random):
    """An image of one line of text with margins, darker than its paper, with a little noise."""
    face = font(name, size)
    left, top, right, bottom = face.getbbox(text)
    paper, ink = int(random.integers(190, 256)), int(random.integers(0, 90))
    image = Image.new("L", (right - left + size, bottom - top + size // 2), paper)
    ImageDraw.Draw(image).text((size // 2 - left, size // 4 - top), text, fill=ink, font=face)
    return noisy(image.convert("RGB"), random, 6)


def noisy(image, random, deviation):
    pixels = np.asarray(image, np.float32)
    return Image.fromarray(np.clip(pixels + random.normal(0, deviation, pixels.shape), 0, 255).astype(np.uint8))


def page(name, width, height, random):
    """A page of one or two columns: headings, paragraphs, sometimes a photo-like figure."""
    image = Image.new("RGB", (width, height), (int(random.integers(225, 256)),) * 3)
    draw, size = ImageDraw.Draw(image), int(random.integers(height // 60, height // 34))
    columns, y = int(random.integers(1, 3)), height // 16
    draw.text((width // 10, y), words(random, 3).title(), fill=(20, 20, 20), font=font(name, 2 * size))
    face = font(name, size)
    for column in range(columns):
        x, y = width // 12 + column * width // 2, height // 6
        wide = (width // columns) - width // 7
        if random.random() < 0.4:
            draw.rectangle((x, y, x + wide, y + height // 6), fill=tuple(int(value) for value in random.integers(60, 200, 3)))
            y += height // 5
        while y < height * 0.92:
            text = words(random, 12)
            while face.getlength(text) > wide:
                text = text.rpartition(" ")[0] or text[:-1]
            draw.text((x, y), text, fill=(30, 30, 30), font=face)
            y += int(size * (1.4 if random.random() < 0.85 else 2.8))
    return noisy(image, random, 3)


def tensor(image, mean, std, scale=1 / 255, bgr=False):
    """[1, 3, height, width] float32 of (pixels * scale - mean) / std."""
    pixels = np.asarray(image.convert("RGB"), np.float32)
    pixels = pixels[..., ::-1] if bgr else pixels
    values = (pixels * np.float32(scale) - np.asarray(mean, np.float32)) / np.asarray(std, np.float32)
    return np.ascontiguousarray(values.astype(np.float32).transpose(2, 0, 1)[None])
