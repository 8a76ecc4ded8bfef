# SPDX-License-Identifier: MIT
"""A vendor's example: a preset by name, or a flat configuration with fine-tuning, and module names of several releases.

npu_example.py MODEL OUTPUT SAMPLES PRESET|cle"""
import sys

from quark.onnx import ModelQuantizer, QuantType
from quark.onnx.quant_utils import PowerOfTwoMethod, VitisQuantFormat, VitisQuantType  # noqa: F401
from quark.onnx.quantization.config import Config, get_default_config
from quark.onnx.quantization.config.config import QuantizationConfig
from samples_reader import FolderReader


def main(model, output, samples, name):
    if name == "cle":
        quant_config = QuantizationConfig(calibrate_method=PowerOfTwoMethod.MinMSE, activation_type=QuantType.QUInt8,
                                          weight_type=QuantType.QInt8, enable_npu_cnn=True, include_cle=True,
                                          extra_options={"ActivationSymmetric": True})
    else:
        quant_config = get_default_config(name)
        if name == "BF16":
            quant_config.extra_options["BF16QDQToCast"] = True
    config = Config(global_quant_config=quant_config)
    print(f"The configuration is {config}")
    ModelQuantizer(config).quantize_model(model_input=model, model_output=output, calibration_data_reader=FolderReader(model, samples))


main(*sys.argv[1:])
