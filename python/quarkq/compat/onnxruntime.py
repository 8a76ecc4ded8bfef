# SPDX-License-Identifier: MIT
"""The calls of onnxruntime.quantization, over quarkq: scripts change their import (docs/python.md).

ONNX Runtime is not needed. Enumerators and readers of its own package are accepted as well. An argument or option that has no counterpart
is refused by name.
"""
from __future__ import annotations

import difflib
import os
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import quarkq

from .quark import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, _plain, _samples

__all__ = ["CalibrationDataReader", "CalibrationMethod", "DynamicQuantConfig", "QuantFormat", "QuantType", "StaticQuantConfig",
           "quant_pre_process", "quantize", "quantize_dynamic", "quantize_static"]

PathLike = Union[str, "os.PathLike[str]"]

#: Options that have the same name and meaning in a settings file.
_SAME = frozenset((
    "ActivationSymmetric", "AddQDQPairToWeight", "CalibMovingAverage", "CalibMovingAverageConstant", "CalibTensorRangeSymmetric",
    "DedicatedQDQPair", "EnableSubgraph", "ForceQuantizeNoInputCheck", "MatMulConstBOnly", "OpTypesToExcludeOutputQuantization",
    "QDQKeepRemovableActivations", "QDQOpTypePerChannelSupportToAxis", "QuantizeBias", "TensorQuantOverrides", "UseQDQContribOps",
    "WeightSymmetric"))
#: Options of dynamic quantization; the others concern calibration and Q/DQ nodes.
_DYNAMIC = frozenset(("ActivationSymmetric", "EnableSubgraph", "ForceQuantizeNoInputCheck", "MatMulConstBOnly", "WeightSymmetric"))
_RENAMED = {"CalibPercentile": "Percentile", "SmoothQuantAlpha": "SmoothAlpha"}
_HANDLED = frozenset(("QDQDisableWeightAdjustForInt32Bias", "SmoothQuant"))
#: Option -> (its values without effect, what to do instead of another one).
_REFUSED: Dict[str, Tuple[Tuple[Any, ...], str]] = {
    "ActivationRestrictedAsymmetric": ((False, None), "leave it out, or set ActivationSymmetric"),
    "BlockSize": ((0, None), 'for blocks of weights call quarkq.quantize(config="matmul_nbits")'),
    "CalibMaxIntermediateOutputs": ((None,), "leave it out; the outputs of one sample are in memory at a time"),
    "CalibStridedMinMax": ((None, 0), "leave it out; samples are read one at a time"),
    "DefaultTensorType": ((None,), "leave it out; types are inferred"),
    "MinimumRealRange": ((None,), "leave it out; ranges of single tensors are set with TensorQuantOverrides"),
    "SmoothQuantFolding": ((True, None), "leave it out; factors are folded where that is possible"),
    "extra.Sigmoid.nnapi": ((False, None), "leave it out; models for NNAPI are not written"),
}
#: Other names of onnxruntime.quantization -> what to do instead.
_NAMES = {
    "CalibraterBase": "call quarkq.calibrate(), which writes statistics for quarkq.quantize(stats=...)",
    "MinMaxCalibrater": "call quarkq.calibrate(), which writes statistics for quarkq.quantize(stats=...)",
    "QDQQuantizer": "call quantize_static()",
    "QuantizationMode": "call quantize_static() with QuantFormat.QOperator, or quantize_dynamic()",
    "create_calibrator": "call quarkq.calibrate(), which writes statistics for quarkq.quantize(stats=...)",
    "get_qdq_config": "pass a StaticQuantConfig to quantize()",
    "matmul_nbits_quantizer": 'call quarkq.quantize(config="matmul_nbits")',
    "write_calibration_table": "set SaveAndRestore with quarkq.quantize(), which keeps the ranges in a JSON file",
}


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        raise ImportError(f"{name}: {_NAMES[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class StaticQuantConfig:
    """The arguments of quantize_static() as one object."""

    def __init__(self, calibration_data_reader: Any, calibrate_method: CalibrationMethod = CalibrationMethod.MinMax,
                 quant_format: QuantFormat = QuantFormat.QDQ, activation_type: QuantType = QuantType.QInt8,
                 weight_type: QuantType = QuantType.QInt8, op_types_to_quantize: Optional[Sequence[str]] = None,
                 nodes_to_quantize: Optional[Sequence[str]] = None, nodes_to_exclude: Optional[Sequence[str]] = None,
                 per_channel: bool = False, reduce_range: bool = False, use_external_data_format: bool = False,
                 calibration_providers: Optional[Sequence[str]] = None, extra_options: Optional[Mapping[str, Any]] = None) -> None:
        self.calibration_data_reader = calibration_data_reader
        self.calibrate_method = calibrate_method
        self.quant_format = quant_format
        self.activation_type = activation_type
        self.weight_type = weight_type
        self.op_types_to_quantize = op_types_to_quantize
        self.nodes_to_quantize = nodes_to_quantize
        self.nodes_to_exclude = nodes_to_exclude
        self.per_channel = per_channel
        self.reduce_range = reduce_range
        self.use_external_data_format = use_external_data_format
        self.calibration_providers = calibration_providers
        self.extra_options = dict(extra_options or {})


class DynamicQuantConfig:
    """The arguments of quantize_dynamic() as one object."""

    def __init__(self, weight_type: QuantType = QuantType.QInt8, op_types_to_quantize: Optional[Sequence[str]] = None,
                 nodes_to_quantize: Optional[Sequence[str]] = None, nodes_to_exclude: Optional[Sequence[str]] = None,
                 per_channel: bool = False, reduce_range: bool = False, use_external_data_format: bool = False,
                 extra_options: Optional[Mapping[str, Any]] = None) -> None:
        self.weight_type = weight_type
        self.op_types_to_quantize = op_types_to_quantize
        self.nodes_to_quantize = nodes_to_quantize
        self.nodes_to_exclude = nodes_to_exclude
        self.per_channel = per_channel
        self.reduce_range = reduce_range
        self.use_external_data_format = use_external_data_format
        self.extra_options = dict(extra_options or {})


def quantize_static(
    model_input: Any, model_output: PathLike, calibration_data_reader: Any = None, quant_format: QuantFormat = QuantFormat.QDQ,
    op_types_to_quantize: Optional[Sequence[str]] = None, per_channel: bool = False, reduce_range: bool = False,
    activation_type: QuantType = QuantType.QInt8, weight_type: QuantType = QuantType.QInt8,
    nodes_to_quantize: Optional[Sequence[str]] = None, nodes_to_exclude: Optional[Sequence[str]] = None,
    use_external_data_format: bool = False, calibrate_method: CalibrationMethod = CalibrationMethod.MinMax,
    calibration_providers: Optional[Sequence[str]] = None, extra_options: Optional[Mapping[str, Any]] = None,
    calibration_cache_path: Optional[PathLike] = None,
) -> quarkq.Report:
    """Quantizes a model with the ranges of calibration samples, and returns the report of quarkq.quantize()."""
    if calibration_data_reader is None:
        raise quarkq.UsageError("calibration_data_reader: found None, allowed is a reader with get_next()")
    if calibration_cache_path is not None:
        raise quarkq.UsageError("calibration_cache_path: not supported; write statistics with quarkq.calibrate() and pass them to "
                                "quarkq.quantize(stats=...)")
    fields: Dict[str, Any] = {
        "quant_format": quant_format, "activation_type": activation_type, "weight_type": weight_type, "calibrate_method": calibrate_method,
        "include_cle": False, **_scope(op_types_to_quantize, nodes_to_quantize, nodes_to_exclude),
        "per_channel": per_channel, "reduce_range": reduce_range, "use_external_data_format": use_external_data_format}
    if (extra_options or {}).get("SmoothQuant"):
        fields["include_sq"] = True
    backend = _backend(calibration_providers)
    config = {"quant_config": _plain(fields), "extra_options": _plain(_options(extra_options or {}, static=True)), **backend}
    return quarkq.quantize(model_input, model_output, config=config, data=_samples(calibration_data_reader), target="none")


def quantize_dynamic(
    model_input: Any, model_output: PathLike, op_types_to_quantize: Optional[Sequence[str]] = None, per_channel: bool = False,
    reduce_range: bool = False, weight_type: QuantType = QuantType.QInt8, nodes_to_quantize: Optional[Sequence[str]] = None,
    nodes_to_exclude: Optional[Sequence[str]] = None, use_external_data_format: bool = False,
    extra_options: Optional[Mapping[str, Any]] = None,
) -> quarkq.Report:
    """Quantizes the weights; scales of activations are computed at run time. Returns the report of quarkq.quantize()."""
    fields: Dict[str, Any] = {
        "use_dynamic_quant": True, "weight_type": weight_type, "include_cle": False,
        **_scope(op_types_to_quantize, nodes_to_quantize, nodes_to_exclude),
        "per_channel": per_channel, "reduce_range": reduce_range, "use_external_data_format": use_external_data_format}
    config = {"quant_config": _plain(fields), "extra_options": _plain(_options(extra_options or {}, static=False))}
    return quarkq.quantize(model_input, model_output, config=config, target="none")


def quantize(model_input: Any, model_output: PathLike, quant_config: Union[StaticQuantConfig, DynamicQuantConfig]) -> quarkq.Report:
    """Calls quantize_static() or quantize_dynamic() with the members of `quant_config`, which may be an object of ONNX Runtime."""
    kinds = {base.__name__ for base in type(quant_config).__mro__}
    if "DynamicQuantConfig" in kinds:
        return quantize_dynamic(model_input, model_output, **_members(vars(quant_config), DynamicQuantConfig()))
    if "StaticQuantConfig" in kinds:
        return quantize_static(model_input, model_output, **_members(vars(quant_config), StaticQuantConfig(None)))
    raise TypeError(f"quant_config: found {type(quant_config).__name__}, allowed are StaticQuantConfig and DynamicQuantConfig; for weights of "
                    'MatMul in 4 bits call quarkq.quantize(config="matmul_nbits")')


def quant_pre_process(input_model: Any = None, output_model_path: Optional[PathLike] = None, **options: Any) -> quarkq.Report:
    """Simplifies the float model. quantize_static() does the same by itself, so this call is not necessary."""
    refused = sorted(name for name, value in options.items() if value and not (name == "int_max" and value == 2**31 - 1))
    if refused:
        raise quarkq.UsageError(f"{', '.join(refused)}: not supported; leave it out: shapes are inferred whenever a model is loaded")
    if not isinstance(input_model, (str, os.PathLike)) or output_model_path is None:
        raise quarkq.UsageError("quant_pre_process: paths of input_model and output_model_path are required")
    return quarkq.optimize(input_model, output_model_path, config={"quant_config": {"include_cle": False}}, target="none")


def _members(values: Mapping[str, Any], known: Any) -> Dict[str, Any]:
    """Returns the members that `known` has, too. Objects of ONNX Runtime have others, which its functions do not read."""
    return {name: value for name, value in values.items() if name in vars(known)}


def _scope(op_types: Optional[Sequence[str]], nodes: Optional[Sequence[str]], excluded: Optional[Sequence[str]]) -> Dict[str, List[str]]:
    given = {"op_types_to_quantize": op_types, "nodes_to_quantize": nodes, "nodes_to_exclude": excluded}
    for name, value in given.items():
        if value is not None and (isinstance(value, str) or callable(value)):
            raise quarkq.UsageError(f"{name}: found {type(value).__name__}, allowed is a list of names")
    return {name: list(value) for name, value in given.items() if value}


def _backend(providers: Optional[Sequence[str]]) -> Dict[str, Any]:
    """Returns the setting that runs calibration samples in ONNX Runtime. The default provider needs none."""
    if not providers or list(providers) == ["CPUExecutionProvider"]:
        return {}
    if not isinstance(providers[0], str):
        raise quarkq.UsageError("calibration_providers: options of providers are not supported; pass names")
    return {"quarkq": {"backend": "ort:" + providers[0].replace("ExecutionProvider", "").lower()}}


def _options(given: Mapping[str, Any], static: bool) -> Dict[str, Any]:
    """Returns the options as a settings file has them. Raises UsageError for those without a counterpart."""
    allowed = _SAME | _HANDLED | set(_RENAMED) if static else _DYNAMIC
    found: Dict[str, Any] = {}
    for name, value in given.items():
        if name in _REFUSED and any(value is other or (value == other and isinstance(value, (int, float))) for other in _REFUSED[name][0]):
            continue
        if name in _REFUSED:
            raise quarkq.UsageError(f"extra_options: {name}={value!r} is not supported; {_REFUSED[name][1]}")
        if name not in allowed:
            raise quarkq.UsageError(f"extra_options: {_unknown(name, allowed, static)}")
        if name == "QDQDisableWeightAdjustForInt32Bias":
            found["AdjustWeightScaleForInt32Bias"] = not value
        elif name != "SmoothQuant":
            found[_RENAMED.get(name, name)] = value
    return found


def _unknown(name: str, allowed: Iterable[str], static: bool) -> str:
    if not static and name in _SAME | _HANDLED | set(_RENAMED):
        return f"{name} has no effect on dynamic quantization; leave it out"
    near = difflib.get_close_matches(name, [*allowed, *_REFUSED], 1)
    return f"unknown option {name}" + (f"; did you mean {near[0]}?" if near else "; quarkq.quantize(settings={...}) takes every option of quarkq")
