# SPDX-License-Identifier: MIT
"""The calls of amd-quark's ONNX side, over quarkq: scripts change their imports (docs/from-amd-quark.md).

Configuration objects hold what was set and become a settings file; what they mean is decided in one place, by the library.
"""
from __future__ import annotations

import enum
import os
import re
from typing import Any, Dict, Iterator, List, Optional, Union

import quarkq

PathLike = Union[str, "os.PathLike[str]"]


class CalibrationDataReader:
    """Samples one by one: get_next() gives a dict of arrays by input name, and None at the end."""

    def get_next(self) -> Optional[Dict[str, Any]]:
        raise NotImplementedError


class CalibMethod(enum.Enum):
    MinMax = 0
    Percentile = 1
    Entropy = 2
    MinMSE = 3
    LayerwisePercentile = 4
    Distribution = 5


class ScaleType(enum.Enum):
    Float32 = 0
    PowerOf2 = 1
    Int16 = 2


class QuantGranularity(enum.Enum):
    Tensor = 0
    Channel = 1
    Group = 2


class CalibrationMethod(enum.Enum):
    MinMax = 0
    Entropy = 1
    Percentile = 2
    Distribution = 3


class PowerOfTwoMethod(enum.Enum):
    NonOverflow = 0
    MinMSE = 1


class LayerWiseMethod(enum.Enum):
    LayerWisePercentile = 0


class QuantFormat(enum.Enum):
    QOperator = 0
    QDQ = 1


class ExtendedQuantFormat(enum.Enum):
    QOperator = 0
    QDQ = 1


class VitisQuantFormat(enum.Enum):
    QDQ = 2
    FixNeuron = 3
    BFPFixNeuron = 4
    MXFixNeuron = 5


class QuantType(enum.Enum):
    QInt8 = 0
    QUInt8 = 1


class ExtendedQuantType(enum.Enum):
    QInt8 = 1
    QUInt8 = 2
    QInt16 = 3
    QUInt16 = 4
    QInt32 = 5
    QUInt32 = 6
    QFloat16 = 7
    QBFloat16 = 8
    QBFP = 9
    QMX = 10


class VitisQuantType(enum.Enum):
    QInt8 = 1
    QUInt8 = 2
    QInt16 = 3
    QUInt16 = 4
    QInt32 = 5
    QUInt32 = 6
    QFloat16 = 7
    QBFloat16 = 8
    QBFP = 9
    QMX = 10


class BaseDataType: ...
class Int8(BaseDataType): ...
class UInt8(BaseDataType): ...
class Int16(BaseDataType): ...
class UInt16(BaseDataType): ...
class Int32(BaseDataType): ...
class UInt32(BaseDataType): ...
class Float16(BaseDataType): ...
class BFloat16(BaseDataType): ...
class BFP16(BaseDataType): ...
class MX4(BaseDataType): ...
class MX6(BaseDataType): ...
class MX9(BaseDataType): ...
class MXFP4E2M1(BaseDataType): ...
class MXFP6E3M2(BaseDataType): ...
class MXFP6E2M3(BaseDataType): ...
class MXFP8E5M2(BaseDataType): ...
class MXFP8E4M3(BaseDataType): ...
class MXInt8(BaseDataType): ...


class QTensorConfig:
    """How a kind of tensor is quantized; arguments that are not given have the defaults of the class."""

    def __init__(self, symmetric: Optional[bool] = None, scale_type: Optional[ScaleType] = None,
                 calibration_method: Optional[CalibMethod] = None, quant_granularity: Optional[QuantGranularity] = None,
                 data_type: Any = None) -> None:
        self.symmetric = symmetric
        self.scale_type = scale_type
        self.calibration_method = calibration_method
        self.quant_granularity = quant_granularity
        self.data_type = data_type

    def to_settings(self) -> Dict[str, Any]:
        given = {key: _plain(value) for key, value in vars(self).items() if value is not None}
        # A user's subclass is an instance of the class that it extends.
        own = next(base for base in type(self).__mro__ if base.__module__ == __name__)
        if own is not QTensorConfig:
            given["spec"] = own.__name__
        return given


class XInt8Spec(QTensorConfig): ...
class Int8Spec(QTensorConfig): ...
class UInt8Spec(QTensorConfig): ...
class Int16Spec(QTensorConfig): ...
class UInt16Spec(QTensorConfig): ...
class Int32Spec(QTensorConfig): ...
class UInt32Spec(QTensorConfig): ...
class Float16Spec(QTensorConfig): ...
class BFloat16Spec(QTensorConfig): ...
class BFP16Spec(QTensorConfig): ...
class MX4Spec(QTensorConfig): ...
class MX6Spec(QTensorConfig): ...
class MX9Spec(QTensorConfig): ...
class MXFP4E2M1Spec(QTensorConfig): ...
class MXFP6E3M2Spec(QTensorConfig): ...
class MXFP6E2M3Spec(QTensorConfig): ...
class MXFP8E5M2Spec(QTensorConfig): ...
class MXFP8E4M3Spec(QTensorConfig): ...
class MXInt8Spec(QTensorConfig): ...


class QLayerConfig:
    """How the tensors of layers are quantized."""

    def __init__(self, input_tensors: Optional[QTensorConfig] = None, weight: Optional[QTensorConfig] = None,
                 bias: Optional[QTensorConfig] = None, output_tensors: Optional[QTensorConfig] = None,
                 activation: Optional[QTensorConfig] = None) -> None:
        self.input_tensors = input_tensors if input_tensors is not None else activation
        self.weight = weight
        self.bias = bias
        self.output_tensors = output_tensors

    def to_settings(self) -> Dict[str, Any]:
        return {role: spec.to_settings() for role, spec in vars(self).items() if spec is not None}


class AlgoConfig:
    """An algorithm and its parameters, by their names in the reference."""

    def __init__(self, **parameters: Any) -> None:
        self.parameters = parameters

    def to_settings(self) -> Dict[str, Any]:
        kind = re.sub("Config$", "", type(self).__name__)
        name = _ALGORITHMS.get(kind, re.sub("(?<!^)(?=[A-Z])", "_", kind).lower())
        return {"name": name, **{key: _plain(value) for key, value in self.parameters.items()}}


class CLEConfig(AlgoConfig): ...
class SmoothQuantConfig(AlgoConfig): ...
class BiasCorrectionConfig(AlgoConfig): ...
class GPTQConfig(AlgoConfig): ...
class AutoMixprecisionConfig(AlgoConfig): ...
class AdaRoundConfig(AlgoConfig): ...
class AdaQuantConfig(AlgoConfig): ...
class QuarotConfig(AlgoConfig): ...


_ALGORITHMS = {"CLE": "cle", "GPTQ": "gptq", "AdaRound": "adaround", "AdaQuant": "adaquant"}


class QuantizationConfig:
    """The flat form: any field of the reference is an attribute. Those of a preset that were not set stay the preset's."""

    def __init__(self, *, preset: Optional[str] = None, extra_options: Optional[Dict[str, Any]] = None, **fields: Any) -> None:
        self.__dict__.update(fields)
        self._preset = preset
        self.extra_options: Dict[str, Any] = dict(extra_options or {})

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{name} was not set here; quarkq config show {self.__dict__.get('_preset') or 'FILE'} lists what holds")

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value

    def to_settings(self) -> Dict[str, Any]:
        fields = {key: _plain(value) for key, value in vars(self).items() if key not in ("_preset", "extra_options")}
        settings: Dict[str, Any] = {"quant_config": fields, "extra_options": _plain(self.extra_options)}
        if self._preset is not None:
            settings["preset"] = self._preset
        return settings


def get_default_config(name: str) -> QuantizationConfig:
    """A preset by its name: a new object for each call."""
    return QuantizationConfig(preset=name)


class Config:
    """What ModelQuantizer takes in the flat form."""

    def __init__(self, global_quant_config: QuantizationConfig) -> None:
        self.global_quant_config = global_quant_config

    def to_settings(self) -> Dict[str, Any]:
        return self.global_quant_config.to_settings()


class QConfig:
    """The layered form; get_default_config() gives the flat one of a preset."""

    def __init__(self, global_config: Optional[QLayerConfig] = None,
                 specific_layer_config: Optional[Dict[QLayerConfig, List[Any]]] = None,
                 layer_type_config: Optional[Dict[Optional[QLayerConfig], List[str]]] = None,
                 exclude: Optional[List[Any]] = None, algo_config: Optional[List[AlgoConfig]] = None,
                 use_external_data_format: bool = False, extra_options: Optional[Dict[str, Any]] = None,
                 **options: Any) -> None:
        self.global_config = global_config or QLayerConfig(input_tensors=Int8Spec(), weight=Int8Spec())
        self.specific_layer_config = specific_layer_config or {}
        self.layer_type_config = layer_type_config or {}
        self.exclude = exclude or []
        self.algo_config = algo_config or []
        self.use_external_data_format = use_external_data_format
        self.extra_options = {**(extra_options or {}), **options}

    @staticmethod
    def get_default_config(name: str) -> Config:
        return Config(global_quant_config=get_default_config(name))

    def to_settings(self) -> Dict[str, Any]:
        settings: Dict[str, Any] = {"global_config": self.global_config.to_settings(), "extra_options": _plain(self.extra_options)}
        if self.specific_layer_config:
            settings["specific_layer_config"] = [
                {"layers": _plain(layers), "config": config.to_settings()} for config, layers in self.specific_layer_config.items()]
        if self.layer_type_config:
            settings["layer_type_config"] = [
                {"op_types": list(types), "config": None if config is None else config.to_settings()}
                for config, types in self.layer_type_config.items()]
        if self.exclude:
            settings["exclude"] = _plain(self.exclude)
        if self.algo_config:
            settings["algo_config"] = [algorithm.to_settings() for algorithm in self.algo_config]
        if self.use_external_data_format:
            settings["use_external_data_format"] = True
        return settings


def _plain(value: Any) -> Any:
    """What a settings file can hold. Enumerators, of onnxruntime too, are written as "Class.Member"."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, type):
        return value.__name__
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _samples(reader: Any) -> Iterator[Dict[str, Any]]:
    """From the first on, where the reader can go back: scripts use one reader several times."""
    if hasattr(reader, "rewind"):
        reader.rewind()
    while True:
        sample = reader.get_next()
        if sample is None:
            return
        yield sample


class ModelQuantizer:
    """Quantizes models as a configuration says. `report`: of the last call; `compat`: as of quarkq.quantize()."""

    def __init__(self, config: Union[Config, QConfig], *, compat: Optional[str] = None) -> None:
        self.config = config
        self.compat = compat
        self.report: Optional[quarkq.Report] = None

    def quantize_model(self, model_input: Any, model_output: Optional[PathLike] = None, calibration_data_reader: Any = None,
                       calibration_data_path: Optional[PathLike] = None) -> Any:
        """Without `model_output` the quantized onnx.ModelProto is returned."""
        data = calibration_data_path if calibration_data_reader is None else _samples(calibration_data_reader)
        settings = self.config.to_settings()
        reader = settings.get("extra_options", {}).get("EvalDataReader")
        evaluation = None
        if hasattr(reader, "get_next"):
            evaluation = _samples(settings["extra_options"].pop("EvalDataReader"))
        self.report = quarkq.quantize(model_input, model_output, config=settings, data=data, eval_data=evaluation, compat=self.compat)
        if self.report.model is None:
            return None
        import onnx

        return onnx.load_from_string(self.report.model)
