# SPDX-License-Identifier: MIT
"""Scripts as users of the reference have them: only the imports name quarkq.compat.quark."""
import copy
import os

import numpy as np
import onnx
import quarkq

from harness import expect, expect_equal, temp_folder, test
from samples import DIGITS_MODEL, digits


def input_name():
    return quarkq.inspect(DIGITS_MODEL)["inputs"][0]["name"]


class Reader:
    def __init__(self):
        self.left = iter([{input_name(): sample} for sample in digits()])

    def get_next(self):
        return next(self.left, None)


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
def values_of_a_preset_are_read_and_changed_in_place():
    """As scripts do that adapt a preset with fine-tuning. What is only read is not a setting."""
    from quarkq.compat.quark import Config, ModelQuantizer, PowerOfTwoMethod, QuantizationConfig, QuantType, get_default_config

    config = get_default_config("XINT8_ADAROUND")
    expect_equal((config.activation_type, config.calibrate_method, config.include_fast_ft, config.nodes_to_exclude),
                 (QuantType.QUInt8, PowerOfTwoMethod.MinMSE, True, []), "fields")
    expect("FastFinetune" in config.extra_options and "Int32Bias" not in config.extra_options, "options that the preset sets")
    expect_equal((config.extra_options["FastFinetune"]["NumIterations"], config.extra_options.get("Percentile", 1)), (1000, 1), "options")
    expect_equal(config.to_settings(), {"preset": "XINT8_ADAROUND", "quant_config": {}, "extra_options": {}}, "settings after reading")
    config.extra_options["ActivationSymmetric"] = True
    expect_equal(config.to_settings()["extra_options"], {"ActivationSymmetric": True}, "what was set, to the value of the preset")
    del config.extra_options["ActivationSymmetric"]
    copied = copy.deepcopy(config)
    expect_equal(copied.to_settings(), {"preset": "XINT8_ADAROUND", "quant_config": {}, "extra_options": {}}, "settings of a copy")
    copied.extra_options["FastFinetune"]["NumIterations"] = 5
    copied.nodes_to_exclude.append("fc")
    expect_equal(config.to_settings()["extra_options"], {}, "settings of the original")
    expect_equal(QuantizationConfig(per_channel=True).nodes_to_exclude, [], "a default without a preset")
    for name in ("exclude_nodes", "Percentile"):
        expect(not hasattr(config, name), f"{name} is an attribute")
    try:
        expect(get_default_config("XINT9").per_channel, "")
    except quarkq.UsageError as error:
        expect("XINT9" in str(error), str(error))
    with temp_folder() as folder:
        output = os.path.join(folder, "q.onnx")
        ModelQuantizer(Config(global_quant_config=copied)).quantize_model(DIGITS_MODEL, output, Reader())
        wanted = by_program(os.path.join(folder, "wanted.onnx"), {"preset": "XINT8_ADAROUND", "quant_config": {"nodes_to_exclude": ["fc"]},
                                                                   "extra_options": {"FastFinetune": {"NumIterations": 5}}})
        with open(output, "rb") as file:
            expect(file.read() == wanted, "other bytes than with the same settings file")


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
