#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""For quarkq --metric-cmd: score_results.py NETWORK MEASURE RESULTS prints MEASURE of a shared labelled network for a folder of results."""
import os
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "..", "shared", "tools"))
import score_labelled  # noqa: E402 pylint: disable=import-error,wrong-import-position


def main():
    network, measure, folder = sys.argv[1:]
    outputs = [np.load(os.path.join(folder, name)) for name in sorted(os.listdir(folder)) if name.endswith(".npy")]
    _, labels = score_labelled.labelled(network)
    print(score_labelled.score(network, outputs, labels)[measure])


if __name__ == "__main__":
    main()
