# SPDX-License-Identifier: MIT
"""COCO's mean average precision, written from its definition and not from quarkq's sources: slow, without crowds."""
import numpy as np

OVERLAPS = np.linspace(.5, .95, 10)
RECALLS = np.linspace(0, 1, 101)
MOST = 100


def overlap(a, b):
    """Boxes as left, top, right, bottom: a table of all pairs."""
    table = np.zeros((len(a), len(b)))
    for i, p in enumerate(a):
        for k, q in enumerate(b):
            width = min(p[2], q[2]) - max(p[0], q[0])
            height = min(p[3], q[3]) - max(p[1], q[1])
            if width > 0 and height > 0:
                both = width * height
                table[i, k] = both / ((p[2] - p[0]) * (p[3] - p[1]) + (q[2] - q[0]) * (q[3] - q[1]) - both)
    return table


def suppress(boxes, scores, most_overlap):
    """Numbers of the boxes that stay, the best first."""
    order = [int(i) for i in np.argsort(-scores, kind="stable")]
    kept = []
    while order:
        best = order.pop(0)
        kept.append(best)
        order = [i for i in order if overlap([boxes[best]], [boxes[i]])[0, 0] <= most_overlap]
    return kept


def average(hits, objects):
    """Area under the envelope of precision at the 101 recalls."""
    right = np.cumsum(hits)
    precision = right / np.arange(1, len(hits) + 1)
    recall = right / objects
    total = 0.
    for step in RECALLS:
        reached = precision[recall >= step]
        total += reached.max() if len(reached) else 0
    return total / len(RECALLS)


def hits_at(level, found, truth):
    """By detection of one image and category, the best first: whether it takes an object."""
    table = overlap([box for _, box in found], truth)
    taken, hits = set(), []
    for row in table:
        free = [k for k in range(len(truth)) if k not in taken and row[k] >= level]
        best = max(free, key=lambda k: row[k], default=None)
        taken.add(best)
        hits.append(best is not None)
    return hits


def mean_average_precision(images, categories):
    """images: pairs of [(category, box)] that are true and [(category, score, box)] that were found -> (mAP, mAP at 0.5)."""
    values = []
    for category in range(categories):
        objects = sum(c == category for true, _ in images for c, _ in true)
        if objects == 0:
            continue
        by_level = []
        for level in OVERLAPS:
            scored = []
            for true, found in images:
                mine = sorted(((s, b) for c, s, b in found if c == category), key=lambda row: -row[0])[:MOST]
                hits = hits_at(level, mine, [b for c, b in true if c == category])
                scored += [(row[0], hit) for row, hit in zip(mine, hits)]
            scored.sort(key=lambda row: -row[0])
            by_level.append(average(np.array([hit for _, hit in scored], float), objects) if scored else 0.)
        values.append(by_level)
    return float(np.mean(values)), float(np.mean([row[0] for row in values]))
