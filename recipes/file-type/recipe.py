# SPDX-License-Identifier: MIT
"""Type of a file from 2048 of its bytes (Magika: an encoder of bytes), on files of wheels; the name's suffix is the label."""
import json
import zipfile

import numpy as np

from _lib import compare, fetch
from _lib.recipe import Recipe, Sample, Score
from _lib.wheels import GRADIO, MAGIKA, MATPLOTLIB, SCIKIT_IMAGE, SCIKIT_LEARN

SIDE, BLOCK, PADDING = 1024, 4096, 256
TYPES = {".py": "python", ".js": "javascript", ".css": "css", ".json": "json", ".html": "html", ".md": "markdown", ".png": "png", ".jpg": "jpeg", ".ttf": "ttf",
         ".svg": "svg", ".csv": "csv", ".so": "elf", ".pdf": "pdf", ".wav": "wav", ".mp3": "mp3", ".rst": "rst", ".woff2": "woff2", ".gif": "gif"}
MOST = 6  # files of a type and wheel


def features(data):
    """The first and the last 1024 bytes without the white space around them; 256 where a file is shorter."""
    begin, end = data[:BLOCK].lstrip()[:SIDE], data[-BLOCK:].rstrip()[-SIDE:]
    values = np.full((1, 2 * SIDE), PADDING, np.int32)
    values[0, :len(begin)] = list(begin)
    values[0, 2 * SIDE - len(end):] = list(end)
    return {"bytes": values}


def made(wheels, seed):
    random, found = np.random.default_rng(seed), []
    labels = json.loads(fetch.read(MAGIKA, "magika/models/standard_v3_3/config.min.json"))["target_labels_space"]
    for wheel in wheels:
        with zipfile.ZipFile(fetch.wheel_file(wheel)) as archive:
            for suffix, kind in TYPES.items():
                names = [entry.filename for entry in archive.infolist() if entry.filename.endswith(suffix) and entry.file_size >= 256]
                for name in random.permutation(sorted(names))[:MOST]:
                    found.append(Sample(features(archive.read(str(name))), f"{wheel.name} {name}", labels.index(kind)))
    return found


def samples():
    return made((SCIKIT_IMAGE, SCIKIT_LEARN), 1), made((GRADIO, MATPLOTLIB), 2)


def score(outputs, sample, float_outputs):
    found, wanted = outputs["target_label"][0], float_outputs["target_label"][0]
    return {"top-1": compare.label(found, sample.truth), "same class": compare.same_choice(found, wanted)}


RECIPE = Recipe(kind="encoder of bytes (file types)", network="standard_v3_3/model.onnx of the wheel magika", source=MAGIKA.label, licence="Apache-2.0, as the wheel states",
                data="files of the wheels gradio and matplotlib; calibrated on files of scikit-image and scikit-learn",
                model=lambda: fetch.extract(MAGIKA, "magika/models/standard_v3_3/model.onnx"), samples=samples, presets=("A8W8", "A16W8"),
                scores=(Score("top-1", "truth"), Score("same class", "float model")), score=score)
