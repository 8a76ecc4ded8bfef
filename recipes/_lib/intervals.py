# SPDX-License-Identifier: MIT
"""Scores with 95 % intervals. A sample contributes (numerator, denominator); a score is the ratio of both sums.

The bootstrap draws groups (photos, voices, fonts) with replacement, not single samples: two crops of one photo are not independent."""
import numpy as np

ROUNDS = 4000
SEED = 20
TAIL = 0.025


def group_sums(parts, groups):
    """[groups, 2]: the sums of numerators and denominators in each group."""
    names = sorted(set(groups))
    sums = np.zeros((len(names), 2))
    for part, group in zip(parts, groups):
        sums[names.index(group)] += part
    return sums


def ratios(sums):
    """Ratio of each row's sums; 0 if the denominator is 0."""
    return np.divide(sums[..., 0], sums[..., 1], out=np.zeros(sums.shape[:-1]), where=sums[..., 1] != 0)


def draws(count):
    return np.random.default_rng(SEED).integers(0, count, (ROUNDS, count))


def bounds(values):
    return [float(bound) for bound in np.quantile(values, [TAIL, 1 - TAIL])]


def rounded(value, low, high):
    return {"value": round(float(value), 4), "low": round(low, 4), "high": round(high, 4)}


def score(parts, groups, is_share):
    """{"value", "low", "high"} of one model. If every group of a share is right (or wrong), the bootstrap has no width; the bound of
    Clopper and Pearson for that many groups is then used."""
    sums = group_sums(parts, groups)
    value = ratios(sums.sum(axis=0))
    low, high = bounds(ratios(sums[draws(len(sums))].sum(axis=1)))
    if is_share and value >= 1:
        low = TAIL ** (1 / len(sums))
    elif is_share and value <= 0:
        high = 1 - TAIL ** (1 / len(sums))
    return rounded(value, low, high)


def difference(first, second, groups):
    """{"value", "low", "high"} of score(first) - score(second), drawn in pairs."""
    one, other = group_sums(first, groups), group_sums(second, groups)
    rows = draws(len(one))
    values = ratios(one[rows].sum(axis=1)) - ratios(other[rows].sum(axis=1))
    return rounded(ratios(one.sum(axis=0)) - ratios(other.sum(axis=0)), *bounds(values))
