# SPDX-License-Identifier: MIT
"""The runs of written_bytes.py, in four sets, each in the default and in compat mode.

networks: every recorded configuration of the shared networks; ops: every recorded case of the small models; options: what no
recording has, on a few networks; tuning: algorithms that train or search, with few steps.
"""
import dataclasses
import os

from golden_case import GOLDEN, SHARED, cases

CONV = ("resnet8_cifar10", "mobilenetv1_025_vww_96", "mobilenetv3_digits", "grid_detector")
DETECTORS = ("ultraface_rfb_320", "grid_detector", "superres_x3", "resnet8_cifar10")
MATMUL = ("vit_digits", "char_gpt", "vit_cifar10_ibp_3_3_8", "gtcrn_stream")
MIXED = ("resnet8_cifar10", "mobilenetv3_digits", "vit_digits", "gtcrn_stream")
CLIPS = ("mobilenetv3_digits", "ppocrv3_det", "deeplabv3_mnv2_voc_257", "efficientnet_lite0_224")
HALF = ("mobilenetv3_digits_fp16",)
SMALLEST = ("resnet8_cifar10", "mobilenetv3_digits", "vit_digits")

TO_INT16 = "AutoMixprecision={TargetLayerConfig: {input_tensors: {spec: Int16Spec}, weight: {spec: Int16Spec}}, DataSize: 2, %s}"
MIX = ("include_auto_mp=true", TO_INT16 % "MetricThreshold: 0")
MIX_DUAL = ("include_auto_mp=true", TO_INT16 % "DualQuantNodes: true")
WIDE_GEMM = "layer_type_config=[{op_types: [MatMul, Gemm], config: {input_tensors: Int16Spec, weight: Int16Spec}}]"
BETWEEN = "RemoveQDQBetweenOps=[[Mul, Add], [Conv, Add], [MatMul, Add], [Add, Relu]]"
STEPS = "FastFinetune.NumIterations=10"

# Name, preset, settings, models.
OPTIONS = (
    ("FP16-UseFP32Scale", "FP16", ("UseFP32Scale=true", "QuantizeFP16=true"), HALF),
    ("A8W8-QuantizeFP16", "A8W8", ("QuantizeFP16=true",), HALF),
    ("A8W8-UseFP32Scale", "A8W8", ("UseFP32Scale=true", "QuantizeFP16=true"), HALF),
    ("XINT8-RemoveQDQMulAdd", "XINT8", ("RemoveQDQMulAdd=true",), MIXED),
    ("A8W8-RemoveQDQMulAdd", "A8W8", ("RemoveQDQMulAdd=true",), MATMUL),
    ("A8W8-RemoveQDQBetweenOps", "A8W8", (BETWEEN,), MIXED),
    ("A8W8-Int16Bias", "A8W8", ("Int16Bias=true", "ConvertOpsetVersion=21"), CONV),
    ("XINT8-Int16Bias", "XINT8", ("Int16Bias=true", "ConvertOpsetVersion=21"), CONV),
    ("A8W8-DedicatedQDQPair", "A8W8", ("DedicatedQDQPair=true",), MIXED),
    ("XINT8-DedicatedQDQPair", "XINT8", ("DedicatedQDQPair=true",), CONV),
    ("BF16-DedicateDQNode", "BF16", ("DedicateDQNode=true",), MIXED),
    ("A8W8-dual", "A8W8", (WIDE_GEMM, "EnableDualQuantNodePairs=true"), MATMUL),
    ("A8W8-wide-gemm", "A8W8", (WIDE_GEMM,), MATMUL),
    ("XINT8-ConvertClipToRelu", "XINT8", ("ConvertClipToRelu=true",), CLIPS),
    ("XINT8-no-dpu", "XINT8", ("SimulateDPU=false",), DETECTORS),
    ("XINT8-dpu-all", "XINT8", ("ConvertSoftmaxToDPUVersion=true", "ConvertInstanceNormToDPUVersion=true", "ConvertClipToDPUVersion=true"), DETECTORS),
    ("XINT8-no-limits", "XINT8", ("NPULimitationCheck=false",), CONV),
    ("A8W8-asymmetric", "A8W8", ("ActivationSymmetric=false",), CLIPS),
    ("U8S8-keep-removable", "U8S8_AAWS", ("QDQKeepRemovableActivations=true",), CONV),
    ("XINT8-transformer", "XINT8", ("enable_npu_cnn=false", "enable_npu_transformer=true"), MATMUL),
    ("A8W8-widen", "A8W8", ("AdjustWeightScaleForInt32Bias=true",), CONV),
    ("A8W8-no-simplify", "A8W8", ("SimplifyModel=false",), CONV + MATMUL),
    ("XINT8-no-optimize", "XINT8", ("SimplifyModel=false", "optimize_model=false"), DETECTORS),
    ("A8W8-nhwc", "A8W8", ("convert_nchw_to_nhwc=true",), CONV),
    ("A8W8-SmoothQuant", "A8W8", ("include_sq=true",), MATMUL),
    ("A8W8-weights-only", "A8W8", ("WeightsOnly=true",), MIXED),
    ("S16S16-mixed", "S16S16_MIXED_S8S8", (), SMALLEST),
    ("BF16-mixed-BFP16", "BF16_MIXED_BFP16", (), SMALLEST),
    ("BF16-BFP16", "BF16_BFP16", (), MIXED),
    ("BF16-clip", "BF16", ("BF16WithClip=true",), MIXED),
    ("BF16-vaiml", "BF16", ("EnableVaimlBF16=true",), MIXED),
    ("MatMulNBits", "MATMUL_NBITS", (), MATMUL),
    ("MatMulNBits-32", "MATMUL_NBITS", ("MatMulNBitsParams.GroupSize=32", "MatMulNBitsParams.Symmetric=false"), MATMUL),
    ("MatMulNBits-HQQ", "MATMUL_NBITS", ("MatMulNBitsParams.Algorithm=HQQ", "MatMulNBitsParams.GroupSize=32"), MATMUL),
    ("MatMulNBits-GPTQ", "MATMUL_NBITS", ("MatMulNBitsParams.Algorithm=GPTQ", "MatMulNBitsParams.GroupSize=32"), MATMUL),
    ("dynamic", "UINT8_DYNAMIC_QUANT", (), MIXED),
    ("int8_cnn_accurate", "INT8_CNN_ACCURATE", ("FastFinetune.NumIterations=5",), SMALLEST),
    ("int16_transformer_default", "INT16_TRANSFORMER_DEFAULT", (), MATMUL),
)

TUNING = (
    ("XINT8-AdaRound", "XINT8_ADAROUND", (STEPS,), SMALLEST),
    ("A8W8-AdaRound", "A8W8_ADAROUND", (STEPS, "FastFinetune.OutputQDQ=true"), SMALLEST),
    ("A8W8-AdaQuant", "A8W8_ADAQUANT", (STEPS,), SMALLEST),
    ("A8W8-AdaQuant-update-bias", "A8W8_ADAQUANT", (STEPS, "FastFinetune.UpdateBias=true", "FastFinetune.DropRatio=0.5"), SMALLEST),
    ("A8W8-AdaRound-selective", "A8W8_ADAROUND", (STEPS, "FastFinetune.SelectiveUpdate=true"), SMALLEST),
    ("BF16-AdaQuant", "BF16_ADAQUANT", (STEPS,), SMALLEST),
    ("BFP16-AdaQuant", "BFP16_ADAQUANT", (STEPS,), SMALLEST),
    ("A8W8-GPTQ", "A8W8", ("UseGPTQ=true",), MATMUL),
    ("A8W8-bias-correction", "A8W8", ("BiasCorrection=true",), CONV),
    ("XINT8-bias-correction", "XINT8", ("BiasCorrection=true",), CONV),
    ("S8S8-bias-correction", "S8S8_AAWS", ("BiasCorrection=true",), CONV),
    ("A8W8-mixed", "A8W8", MIX, MIXED),
    ("A8W8-mixed-quality", "A8W8", ("include_auto_mp=true", TO_INT16 % "MetricOptimizeObject: quality, MetricThreshold: 0.05"), MIXED),
    ("A8W8-bias-correction-Int16Bias", "A8W8", ("BiasCorrection=true", "Int16Bias=true", "ConvertOpsetVersion=21"), CONV),
    ("XINT8-bias-correction-Int16Bias", "XINT8", ("BiasCorrection=true", "Int16Bias=true", "ConvertOpsetVersion=21"), CONV),
    ("A8W8-GPTQ-RemoveQDQBetweenOps", "A8W8", ("UseGPTQ=true", BETWEEN), MATMUL),
    ("A8W8-GPTQ-bias-correction", "A8W8", ("UseGPTQ=true", "BiasCorrection=true"), MATMUL),
    ("A8W8-mixed-dual", "A8W8", MIX_DUAL, MIXED),
    ("A8W8-mixed-dual-pairs", "A8W8", (*MIX, "EnableDualQuantNodePairs=true"), MIXED),
    ("A8W8-mixed-RemoveQDQBetweenOps", "A8W8", (*MIX, BETWEEN), MIXED),
    ("A8W8-mixed-bias-correction", "A8W8", (*MIX, "BiasCorrection=true"), MIXED),
    ("A8W8-mixed-GPTQ", "A8W8", (*MIX, "UseGPTQ=true"), SMALLEST),
    ("A8W8-AdaRound-bias-correction", "A8W8_ADAROUND", (STEPS, "BiasCorrection=true"), SMALLEST),
    ("A8W8-AdaRound-GPTQ", "A8W8_ADAROUND", (STEPS, "UseGPTQ=true", BETWEEN), SMALLEST),
    ("XINT8-AdaRound-RemoveQDQMulAdd", "XINT8_ADAROUND", (STEPS, "RemoveQDQMulAdd=true"), SMALLEST),
    ("A8W8-AdaQuant-mixed-dual", "A8W8_ADAQUANT", (STEPS, *MIX_DUAL), SMALLEST),
    ("BF16-mixed-BFP16-AdaQuant", "BF16_MIXED_BFP16_ADAQUANT", (STEPS,), SMALLEST),
)


@dataclasses.dataclass(frozen=True)
class Case:
    set: str
    model: str
    case: str
    compat: bool
    float_model: str
    samples: str
    config: dict
    settings: tuple = ()

    @property
    def name(self):
        return f"{self.set} {self.model} {self.case} {'compat' if self.compat else 'default'}"


def _recorded(name, which):
    for case in cases(which):
        for compat in (True, False):
            yield Case(name, case.model, case.case, compat, case.float_model, case.samples, case.config)


def _made(name, table):
    for case, preset, settings, models in table:
        for model in models:
            for compat in (True, False):
                yield Case(name, model, case, compat, os.path.join(SHARED, "models", model + ".onnx"), os.path.join(GOLDEN, "inputs", model, "calib"),
                           {"preset": preset}, settings)


def all_cases():
    yield from _made("options", OPTIONS)
    yield from _made("tuning", TUNING)
    yield from _recorded("networks", "networks")
    yield from _recorded("ops", "small")
