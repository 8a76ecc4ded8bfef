# SPDX-License-Identifier: MIT
"""The calibration reader of these scripts, which is not derived from a class of quark."""
import glob

import numpy as np
import onnx


class FolderReader:
    def __init__(self, model, folder):
        self.name = onnx.load(model).graph.input[0].name
        self.files = sorted(glob.glob(folder + "/*.npy"))
        self.left = None

    def get_next(self):
        if self.left is None:
            self.left = iter(self.files)
        path = next(self.left, None)
        return None if path is None else {self.name: np.load(path)}

    def rewind(self):
        self.left = None
