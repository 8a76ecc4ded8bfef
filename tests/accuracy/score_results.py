#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""For quarkq --metric-cmd: score_results.py NETWORK MEASURE RESULTS prints MEASURE of a labelled network of ../shared for a folder of results."""
import json
import os
import sys

import numpy as np

from run import SHARED, TRAINED

sys.path.insert(0, os.path.join(SHARED, "tools"))
import score_labelled  # noqa: E402 pylint: disable=import-error,wrong-import-position

DATA = os.path.join(TRAINED, "_data")


def results(folder):
    return [np.load(os.path.join(folder, name)) for name in sorted(os.listdir(folder)) if name.endswith(".npy")]


def eval_rows(kind):
    with open(os.path.join(DATA, kind, "labels.json"), encoding="utf-8") as file:
        return [row for row in json.load(file) if row["set"] == "eval"]


def text_boxes(mask, truth):
    """(right, found, true) at an overlap of 0.5."""
    from det_score import iou  # pylint: disable=import-error
    from ocr_score import boxes  # pylint: disable=import-error
    found, right = boxes(mask[0, 0]), 0
    overlaps = iou(found, truth) if len(found) else np.zeros((0, 0))
    while overlaps.size and overlaps.max() >= .5:
        i, j = np.unravel_index(overlaps.argmax(), overlaps.shape)
        right, overlaps[i], overlaps[:, j] = right + 1, -1, -1
    return right, len(found), len(truth)


def harmonic_mean(counts):
    """Harmonic mean of precision and recall. `counts`: text_boxes() of each scene."""
    right, found, true = np.sum(counts, axis=0)
    return 2 * right / max(found + true, 1)


def hmean(folder):
    scenes = zip(results(folder), eval_rows("text_scenes"), strict=True)
    return harmonic_mean([text_boxes(mask, np.array(row["boxes"], float)) for mask, row in scenes])


def is_exact(scores, text):
    """The line is read without a fault, blanks aside."""
    from ocr_score import ctc  # pylint: disable=import-error
    with open(os.path.join(TRAINED, "ppocrv4_rec", "chars.txt"), encoding="utf-8") as file:
        alphabet = ["", *file.read().split("\n"), " "]
    return ctc(scores[0], alphabet).replace(" ", "") == text.replace(" ", "")


def exact(folder):
    rows = eval_rows("text_lines")
    return sum(is_exact(scores, row["text"]) for scores, row in zip(results(folder), rows, strict=True)) / len(rows)


def si_snr(folder):
    import speech
    clean = speech.recording(os.path.join(SHARED, "data", "audio", "speech_eval_16k.wav"))
    return speech.si_snr(speech.signal_of(results(os.path.join(folder, "enh"))), clean)


MEASURES = {"hmean": hmean, "exact": exact, "si_snr": si_snr}


def main():
    network, measure, folder = sys.argv[1:]
    if measure in MEASURES:
        print(MEASURES[measure](folder))
        return
    print(score_labelled.score(network, results(folder), score_labelled.labelled(network)[1])[measure])


if __name__ == "__main__":
    main()
