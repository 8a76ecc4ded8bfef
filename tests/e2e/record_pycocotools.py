#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records what pycocotools makes of random detections: record_pycocotools.py writes pycocotools.json, which test_metrics.py compares
quarkq with. Needs pycocotools, which the tests themselves do not."""
import contextlib
import io
import json
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_metrics import PYCOCOTOOLS, SIZE, crowded_scenes, listed  # noqa: E402

SEEDS = range(8)


def detections(scenes):
    found = []
    for number, (_, cells) in enumerate(scenes):
        for box, category, score in zip(*listed(cells)):
            left, top, right, bottom = (float(side) for side in np.clip(np.float32(box), 0, SIZE))  # as quarkq cuts them at the image's edge
            found.append({"image_id": number, "category_id": 10 * int(category), "bbox": [left, top, right - left, bottom - top], "score": float(np.float32(score))})
    return found


def judged(seed):
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval
    scenes, truth = crowded_scenes(seed)
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = truth
        coco.createIndex()
        judge = COCOeval(coco, coco.loadRes(detections(scenes)), "bbox")
        judge.evaluate()
        judge.accumulate()
        judge.summarize()
    return {"map": judge.stats[0], "map50": judge.stats[1]}


def main():
    with open(PYCOCOTOOLS, "w", encoding="utf-8") as file:
        json.dump({str(seed): judged(seed) for seed in SEEDS}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
