# SPDX-License-Identifier: MIT
"""Parts of scores: (numerator, denominator) of one sample."""
import numpy as np


def same_choice(found, wanted):
    """The largest value is at the same place; along the last axis."""
    equal = np.argmax(found, axis=-1) == np.argmax(wanted, axis=-1)
    return float(equal.sum()), float(equal.size)


def label(found, wanted):
    """The largest value is at the label."""
    return float(int(np.argmax(found)) == wanted), 1.0


def f1(found, wanted):
    """Twice the common elements over all elements, of two sets or two boolean arrays."""
    if isinstance(found, set):
        return 2.0 * len(found & wanted), float(len(found) + len(wanted))
    return 2.0 * float((found & wanted).sum()), float(found.sum() + wanted.sum())


def absolute(found, wanted):
    """Mean absolute difference."""
    return float(np.abs(np.asarray(found, np.float64) - wanted).mean()), 1.0


def edits(found, wanted):
    """Edit distance of two texts."""
    row = list(range(len(wanted) + 1))
    for i, one in enumerate(found, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(wanted, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (one != other))
    return row[-1]


def characters(found, wanted):
    """Share of right characters: 1 - edits / length, not below 0."""
    return float(max(0, len(wanted) - edits(found, wanted))), float(len(wanted))


def ctc(classes, alphabet):
    """Text of the class per step: repeated classes once, class 0 is the blank, class i is alphabet[i - 1]."""
    kept = [int(one) for number, one in enumerate(classes) if one and (number == 0 or one != classes[number - 1])]
    return "".join(alphabet[one - 1] for one in kept if one <= len(alphabet))


def overlap(boxes, others):
    """[n, m] intersection over union of boxes (left, top, right, bottom)."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    common = np.clip(high - low, 0, None).prod(axis=2)
    areas = [(one[:, 2:] - one[:, :2]).clip(0).prod(axis=1) for one in (boxes, others)]
    return common / np.maximum(areas[0][:, None] + areas[1][None] - common, 1e-9)


def suppressed(boxes, scores, classes, minimum, limit=0.45):
    """(boxes, classes) left after non-maximum suppression of each class, the best first."""
    order = [number for number in np.argsort(-scores, kind="stable") if scores[number] >= minimum]
    kept = []
    for number in order:
        rivals = [other for other in kept if classes[other] == classes[number]]
        if not rivals or overlap(boxes[[number]], boxes[rivals]).max() < limit:
            kept.append(number)
    return boxes[kept].reshape(-1, 4), np.asarray(classes)[kept]


def box_f1(found, wanted, least=0.5):
    """F1 of (boxes, classes) against (boxes, classes): pairs of one class that overlap by `least`, each box at most once."""
    free, hits = set(range(len(wanted[0]))), 0
    for box, kind in zip(*found):
        rivals = [number for number in free if wanted[1][number] == kind]
        overlaps = overlap(box[None], wanted[0][rivals])[0] if rivals else np.zeros(0)
        if len(overlaps) and overlaps.max() >= least:
            free.remove(rivals[int(overlaps.argmax())])
            hits += 1
    return 2.0 * hits, float(len(found[0]) + len(wanted[0]))
