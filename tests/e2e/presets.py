# SPDX-License-Identifier: MIT
"""Presets that sweeps run through, one of each format, and their results in ONNX Runtime."""
import os

import onnxruntime

from reference import LIBRARY, adds_products_exactly

INTEGERS = ["xint8", "vint8", "a8w8", "a16w8", "s8s8_aaws", "u8s8_aaws", "s16s8_asws", "u16s8_aaws", "u8u8_aawa", "s16s16_mixed_s8s8", "int8_cnn_default",
            "int16_cnn_default", "int8_transformer_default", "int16_transformer_default", "a8w8_block"]
BLOCKS = ["bf16", "fp16", "bfp16", "bf16_bfp16", "bf16_mxint8", "mx4", "mx6", "mx9", "mx9_int8", "mxint8", "mxfp8e4m3", "mxfp8e5m2",
          "mxfp6e2m3", "mxfp6e3m2", "mxfp4e2m1"]


def results(path, samples):
    """Of the model in ONNX Runtime, optimized as by default."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    if not adds_products_exactly():
        options.add_session_config_entry("session.disable_quant_qdq", "1")
    if os.path.exists(LIBRARY):
        options.register_custom_ops_library(LIBRARY)
    runner = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return [runner.run(None, sample)[0] for sample in samples]
