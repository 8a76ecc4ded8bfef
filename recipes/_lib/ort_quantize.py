# SPDX-License-Identifier: MIT
"""Quantizes a model with ONNX Runtime's own quantizer: ort_quantize.py MODEL CALIB_FOLDER OUTPUT.

Its documented way for a CPU: quant_pre_process, then quantize_static with its defaults (Q/DQ, int8 activations and weights, MinMax,
per tensor). Where the pre-process fails, the model is quantized without it and the output says so."""
import glob
import os
import sys

import numpy as np
from onnxruntime.quantization import CalibrationDataReader, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process


class Samples(CalibrationDataReader):
    def __init__(self, folder):
        self.paths = iter(sorted(glob.glob(os.path.join(folder, "*.npz"))))

    def get_next(self):
        path = next(self.paths, None)
        return None if path is None else dict(np.load(path))


def main():
    model, folder, output = sys.argv[1:]
    prepared = output + ".prepared.onnx"
    try:
        quant_pre_process(model, prepared, auto_merge=True)
    except Exception as error:  # whatever its shape inference raises
        print(f"without quant_pre_process: {type(error).__name__}: {str(error)[:200]}")
        prepared = model
    quantize_static(prepared, output, Samples(folder))


if __name__ == "__main__":
    main()
