# SPDX-License-Identifier: MIT
"""Scripts as users of the reference have them: only the imports name quarkq.compat.quark."""
import os

import numpy as np
import onnx
import quarkq

from harness import expect, expect_equal, temp_folder, test
from samples import DIGITS_MODEL, digits


def input_name():
    return quarkq.inspect(DIGITS_MODEL)["inputs"][0]["name"]


def ops_of(path):
    return {node.op_type for node in onnx.load(path).graph.node}


def by_program(output, config):
    quarkq.quantize(DIGITS_MODEL, output, config=config, data=digits())
    with open(output, "rb") as file:
        return file.read()


@test()
def npu_script_with_its_own_reader():
    """The NPU flow: a preset, options set one by one, a reader with rewind()."""
    from quarkq.compat.quark import CalibrationDataReader, ModelQuantizer, QConfig

    class ImageReader(CalibrationDataReader):
        def __init__(self, images, name):
            self.name, self.images, self.left = name, images, None

        def get_next(self):
            if self.left is None:
                self.left = iter([{self.name: image} for image in self.images])
            return next(self.left, None)

        def rewind(self):
            self.left = None

    quant_config = QConfig.get_default_config("VINT8")
    quant_config.global_quant_config.extra_options["Int32Bias"] = False
    quant_config.global_quant_config.enable_npu_cnn = True
    quant_config.global_quant_config.extra_options["DedicatedQDQPair"] = True
    quant_config.global_quant_config.extra_options["QuantizeAllOpTypes"] = True
    quant_config.global_quant_config.subgraphs_to_exclude = [(["relu2"], ["fc"])]
    quantizer = ModelQuantizer(quant_config)
    with temp_folder() as folder:
        output = os.path.join(folder, "int8.onnx")
        quantizer.quantize_model(model_input=DIGITS_MODEL, model_output=output, calibration_data_reader=ImageReader(digits(), input_name()))
        wanted = by_program(os.path.join(folder, "wanted.onnx"), {
            "preset": "VINT8", "quant_config": {"enable_npu_cnn": True, "subgraphs_to_exclude": [[["relu2"], ["fc"]]]},
            "extra_options": {"Int32Bias": False, "DedicatedQDQPair": True, "QuantizeAllOpTypes": True}})
        with open(output, "rb") as file:
            expect(file.read() == wanted, "other bytes than with the same settings file")
        expect_equal(quantizer.report["samples"], len(digits()), "samples")


@test()
def bf16_script_without_data():
    from quarkq.compat.quark import ModelQuantizer, QConfig

    quant_config = QConfig.get_default_config("BF16")
    quant_config.global_quant_config.extra_options["BF16QDQToCast"] = True
    with temp_folder() as folder:
        output = os.path.join(folder, "bf16.onnx")
        ModelQuantizer(quant_config).quantize_model(model_input=DIGITS_MODEL, model_output=output, calibration_data_reader=None)
        expect("Cast" in ops_of(output) and "QuantizeLinear" not in ops_of(output), f"found {ops_of(output)}")


@test()
def random_data_script():
    from quarkq.compat.quark import ModelQuantizer, QConfig

    quant_config = QConfig.get_default_config("VINT8")
    quant_config.global_quant_config.extra_options["UseRandomData"] = True
    with temp_folder() as folder:
        output = os.path.join(folder, "int8.onnx")
        ModelQuantizer(quant_config).quantize_model(DIGITS_MODEL, output, None)
        expect("QuantizeLinear" in ops_of(output), f"found {ops_of(output)}")


@test(cases=["adaround", "adaquant"])
def finetuning_script(algorithm):
    """A flat configuration, with enumerators of ONNX Runtime as the scripts import them."""
    from onnxruntime.quantization.calibrate import CalibrationMethod
    from quarkq.compat.quark import Config, ModelQuantizer, QuantizationConfig, QuantType, VitisQuantFormat

    quant_config = QuantizationConfig(
        calibrate_method=CalibrationMethod.MinMax, quant_format=VitisQuantFormat.QDQ, activation_type=QuantType.QInt8,
        weight_type=QuantType.QInt8, include_fast_ft=True,
        extra_options={"ActivationSymmetric": True, "AlignSlice": False, "FoldRelu": True, "AlignConcat": True, "AlignEltwiseQuantType": True,
                       "FastFinetune": {"NumIterations": 20, "LearningRate": 0.1 if algorithm == "adaround" else 1e-6,
                                        "OptimAlgorithm": algorithm}})

    class Reader:
        def __init__(self):
            self.left = iter([{input_name(): sample} for sample in digits()])

        def get_next(self):
            return next(self.left, None)

    quantizer = ModelQuantizer(Config(global_quant_config=quant_config))
    with temp_folder() as folder:
        output = os.path.join(folder, "q.onnx")
        quantizer.quantize_model(DIGITS_MODEL, output, Reader())
        expect_equal({layer["algorithm"] for layer in quantizer.report["tuned_layers"]}, {algorithm}, "algorithms")


@test()
def layered_script():
    """The layered form: specs with arguments, single layers, algorithms; the result as a ModelProto."""
    from quarkq.compat.quark import CalibMethod, CLEConfig, Int8Spec, Int16Spec, ModelQuantizer, QConfig, QLayerConfig

    config = QConfig(
        global_config=QLayerConfig(input_tensors=Int8Spec(calibration_method=CalibMethod.MinMax), weight=Int8Spec()),
        specific_layer_config={QLayerConfig(input_tensors=Int16Spec(), weight=Int16Spec()): ["conv1"]}, exclude=["fc"],
        algo_config=[CLEConfig(cle_steps=2)], Int32Bias=True)

    class Reader:
        def __init__(self):
            self.left = [{input_name(): sample.astype(np.float32)} for sample in digits()]

        def get_next(self):
            return self.left.pop(0) if self.left else None

    model = ModelQuantizer(config).quantize_model(onnx.load(DIGITS_MODEL), None, Reader())
    with temp_folder() as folder:
        wanted = by_program(os.path.join(folder, "wanted.onnx"), {
            "global_config": {"input_tensors": {"spec": "Int8Spec", "calibration_method": "MinMax"}, "weight": "Int8Spec"},
            "specific_layer_config": [{"layers": ["conv1"], "config": {"input_tensors": "Int16Spec", "weight": "Int16Spec"}}],
            "exclude": ["fc"], "algo_config": [{"name": "cle", "cle_steps": 2}], "extra_options": {"Int32Bias": True}})
    expect(model == onnx.load_from_string(wanted), "another model than with the same settings file")


@test()
def configurations_are_copies():
    from quarkq.compat.quark import QConfig

    first, second = QConfig.get_default_config("XINT8"), QConfig.get_default_config("XINT8")
    first.global_quant_config.extra_options["Int32Bias"] = True
    expect_equal(second.global_quant_config.extra_options, {}, "options of another object")


@test()
def a_subclass_of_a_spec_is_the_spec_that_it_extends():
    """With a name of its own, and values that its constructor sets."""
    from quarkq.compat.quark import CalibMethod, Int8, Int8Spec, QTensorConfig

    class MySpec(Int8Spec):
        def __init__(self):
            super().__init__(symmetric=False, calibration_method=CalibMethod.MinMax)

    class Free(QTensorConfig):
        def __init__(self):
            super().__init__(data_type=Int8)

    expect_equal(MySpec().to_settings(), Int8Spec(symmetric=False, calibration_method=CalibMethod.MinMax).to_settings(), "a subclass of Int8Spec")
    expect_equal(Free().to_settings(), QTensorConfig(data_type=Int8).to_settings(), "a subclass of QTensorConfig")
