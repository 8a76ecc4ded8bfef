# SPDX-License-Identifier: MIT
"""Text that a program for the reference begins with: how it reads the samples of a folder."""

READER = """
import glob, sys, time
import numpy as np
import onnx
from onnxruntime.quantization import CalibrationDataReader
from quark.onnx import ModelQuantizer
from quark.onnx.quantization.config import Config, get_default_config

class Samples(CalibrationDataReader):
    def __init__(self, model, folder):
        graph = onnx.load(model).graph
        stored = {tensor.name for tensor in graph.initializer}
        self.name = next(value.name for value in graph.input if value.name not in stored)
        self.files = iter(sorted(glob.glob(folder + "/*.npy")))
    def get_next(self):
        path = next(self.files, None)
        return {self.name: np.load(path)} if path else None
"""
