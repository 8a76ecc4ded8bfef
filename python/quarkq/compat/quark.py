# SPDX-License-Identifier: MIT
"""The calls of amd-quark's ONNX side, over quarkq: scripts change their imports (docs/from-amd-quark.md).

Configuration objects hold what was set and become a settings file; what they mean is decided in one place, by the library.
"""
from __future__ import annotations

import copy
import enum
import functools
import json
import os
import re
import subprocess
import tempfile
from typing import Any, Dict, Iterator, List, Optional, Union

import quarkq

PathLike = Union[str, "os.PathLike[str]"]

__all__ = [
    "A16W8_ADAQUANT_QCONFIG", "A16W8_ADAROUND_QCONFIG", "A16W8_QCONFIG", "A8W8_ADAQUANT_QCONFIG", "A8W8_ADAROUND_QCONFIG",
    "A8W8_QCONFIG", "AdaQuantConfig", "AdaRoundConfig", "AlgoConfig", "AutoMixprecisionConfig", "BF16_QCONFIG", "BFP16",
    "BFP16Spec", "BFP16_QCONFIG", "BFloat16", "BFloat16Spec", "BaseDataType", "BiasCorrectionConfig", "CLEConfig",
    "CalibMethod", "CalibrationDataReader", "CalibrationMethod", "Config", "DEFAULT_ADAQUANT_PARAMS",
    "DEFAULT_ADAROUND_PARAMS", "DEFAULT_BFP_PARAMS", "DEFAULT_MICROEXPONENTS_PARAMS", "DEFAULT_MICROSCALING_PARAMS",
    "ExtendedCalibrationMethod", "ExtendedQuantFormat", "ExtendedQuantType", "Float16", "Float16Spec", "GPTQConfig",
    "Int16", "Int16Spec", "Int32", "Int32Spec", "Int8", "Int8Spec", "LayerWiseMethod", "MX4", "MX4Spec", "MX6", "MX6Spec",
    "MX9", "MX9Spec", "MXFP4E2M1", "MXFP4E2M1Spec", "MXFP6E2M3", "MXFP6E2M3Spec", "MXFP6E3M2", "MXFP6E3M2Spec", "MXFP8E4M3",
    "MXFP8E4M3Spec", "MXFP8E5M2", "MXFP8E5M2Spec", "MXInt8", "MXInt8Spec", "ModelQuantizer", "PowerOfTwoMethod", "QConfig",
    "QLayerConfig", "QTensorConfig", "QuantFormat", "QuantGranularity", "QuantType", "QuantizationConfig", "QuarotConfig",
    "ScaleType", "SmoothQuantConfig", "UInt16", "UInt16Spec", "UInt32", "UInt32Spec", "UInt8", "UInt8Spec", "VINT8_QCONFIG",
    "VitisQuantFormat", "VitisQuantType", "XINT8_ADAQUANT_QCONFIG", "XINT8_ADAROUND_QCONFIG", "XINT8_QCONFIG", "XInt8Spec",
    "get_default_config", "get_library_path",
]

#: Parameters that flat configurations of the reference pass as `FastFinetune`, `BFPAttributes` and `MXAttributes`.
DEFAULT_ADAROUND_PARAMS: Dict[str, Any] = {
    "DataSize": 1000, "FixedSeed": 1705472343, "BatchSize": 2, "NumIterations": 1000, "LearningRate": 0.1, "OptimAlgorithm": "adaround",
    "OptimDevice": "cpu", "InferDevice": "cpu", "EarlyStop": True}
DEFAULT_ADAQUANT_PARAMS: Dict[str, Any] = {**DEFAULT_ADAROUND_PARAMS, "LearningRate": 1e-5, "OptimAlgorithm": "adaquant"}
DEFAULT_BFP_PARAMS: Dict[str, Any] = {"bfp_method": "to_bfp", "axis": 1, "bit_width": 16, "block_size": 8, "rounding_mode": 2}
DEFAULT_MICROEXPONENTS_PARAMS: Dict[str, Any] = {
    "bfp_method": "to_bfp_prime", "axis": 1, "bit_width": 13, "block_size": 16, "sub_block_size": 2, "sub_block_shift_bits": 1,
    "rounding_mode": 2}
DEFAULT_MICROSCALING_PARAMS: Dict[str, Any] = {"element_dtype": "int8", "axis": 1, "block_size": 32, "rounding_mode": 2}


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


class ExtendedCalibrationMethod(enum.Enum):
    MinMSE = 0


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
    QFLOAT8E4M3FN = 2
    QInt16 = 3
    QUInt16 = 4
    QInt4 = 5
    QUInt4 = 6


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

    def set_symmetric(self, symmetric: bool) -> None:
        self.symmetric = symmetric

    def set_scale_type(self, scale_type: ScaleType) -> None:
        self.scale_type = scale_type

    def set_calibration_method(self, calibration_method: CalibMethod) -> None:
        self.calibration_method = calibration_method

    def set_quant_granularity(self, quant_granularity: QuantGranularity) -> None:
        self.quant_granularity = quant_granularity

    def set_data_type(self, data_type: Any) -> None:
        self.data_type = data_type

    @staticmethod
    def from_dict(values: Dict[str, Any]) -> QTensorConfig:
        """Enumerators are texts, such as "CalibMethod.MinMax"; the library checks them."""
        return QTensorConfig(**values)

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

    @staticmethod
    def from_dict(values: Dict[str, Any]) -> QLayerConfig:
        return QLayerConfig(**{role: QTensorConfig.from_dict(spec) for role, spec in values.items() if spec is not None})

    def to_settings(self) -> Dict[str, Any]:
        return {role: spec.to_settings() for role, spec in vars(self).items() if spec is not None}


class AlgoConfig:
    """An algorithm and its parameters, by their names in the reference: arguments, or attributes that are set later."""

    def __init__(self, **parameters: Any) -> None:
        self.__dict__.update(parameters)

    @property
    def name(self) -> str:
        own = next(base for base in type(self).__mro__ if base.__module__ == __name__)
        kind = re.sub("Config$", "", own.__name__)
        return _ALGORITHMS.get(kind, re.sub("(?<!^)(?=[A-Z])", "_", kind).lower())

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value

    def to_settings(self) -> Dict[str, Any]:
        return {"name": self.name, **{key: _plain(value) for key, value in vars(self).items() if key != "name"}}


class CLEConfig(AlgoConfig): ...


class SmoothQuantConfig(AlgoConfig):
    def __init__(self, alpha: Optional[float] = None) -> None:
        super().__init__(**({} if alpha is None else {"alpha": alpha}))


class BiasCorrectionConfig(AlgoConfig): ...
class GPTQConfig(AlgoConfig): ...
class AutoMixprecisionConfig(AlgoConfig): ...
class AdaRoundConfig(AlgoConfig): ...
class AdaQuantConfig(AlgoConfig): ...
class QuarotConfig(AlgoConfig): ...


_ALGORITHMS = {"CLE": "cle", "GPTQ": "gptq", "AdaRound": "adaround", "AdaQuant": "adaquant"}


@functools.lru_cache(maxsize=None)
def _shown(preset: Optional[str]) -> Any:
    """Returns what `quarkq config show` prints for a preset, or for a configuration in which nothing is set."""
    with tempfile.TemporaryDirectory(prefix="quarkq-") as folder:
        source = preset
        if source is None:
            source = os.path.join(folder, "empty.json")
            with open(source, "w", encoding="utf-8") as file:
                file.write('{"quant_config": {}}')
        result = subprocess.run([quarkq.program(), "config", "show", source, "--json"], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise quarkq.UsageError(result.stderr.strip().rpartition("quarkq: error: ")[2])
    return json.loads(result.stdout)


class _Options(Dict[str, Any]):
    """Options over those of a preset. Options of the preset can be read, and maps among them changed in place; a copy of what was read
    is kept here. len() and loops see only what was set or read."""

    def __init__(self, preset: Optional[str], given: Dict[str, Any]) -> None:
        super().__init__(given)
        self._preset = preset
        self._read: Dict[str, Any] = {}

    def _of_preset(self) -> Dict[str, Any]:
        if self._preset is None:
            return {}
        shown = _shown(self._preset)
        return {key: shown["resolved"][key]["value"] for key in shown["asked"].get("extra_options", {})}

    def __missing__(self, key: str) -> Any:
        self._read[key] = self._of_preset()[key]
        super().__setitem__(key, copy.deepcopy(self._read[key]))
        return self[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._read.pop(key, None)
        super().__setitem__(key, value)

    def __deepcopy__(self, memo: Dict[int, Any]) -> _Options:
        copied = _Options(self._preset, {key: copy.deepcopy(value, memo) for key, value in self.items()})
        copied._read.update(self._read)
        return copied

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self._of_preset()

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default

    def to_settings(self) -> Dict[str, Any]:
        return {key: _plain(value) for key, value in self.items() if not (key in self._read and self._read[key] == value)}


class QuantizationConfig:
    """The flat form: any field of the reference is an attribute. Fields that were not set have the values of the preset."""

    def __init__(self, *, preset: Optional[str] = None, extra_options: Optional[Dict[str, Any]] = None, **fields: Any) -> None:
        self.__dict__.update(fields)
        self._preset = preset
        self._read: Dict[str, Any] = {}
        self.extra_options: Dict[str, Any] = _Options(preset, extra_options or {})

    def __getattr__(self, name: str) -> Any:
        """Called for fields that were not set. A copy of the value is kept, so that a list may be changed in place."""
        if name.startswith("_"):
            raise AttributeError(name)
        fields = _shown(self._preset)["resolved"]
        if name not in fields or "." in name or not name.islower():
            raise AttributeError(f"{name} is not a field; quarkq list options names them")
        value = fields[name]["value"]
        kind, _, member = value.partition(".") if isinstance(value, str) else ("", "", "")
        self._read[name] = globals()[kind][member] if member and kind in globals() else copy.deepcopy(value)
        self.__dict__[name] = copy.deepcopy(self._read[name])
        return self.__dict__[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value
        if name != "_read" and "_read" in self.__dict__:
            self._read.pop(name, None)

    def to_settings(self) -> Dict[str, Any]:
        fields = {key: _plain(value) for key, value in vars(self).items()
                  if key != "extra_options" and not key.startswith("_") and not (key in self._read and self._read[key] == value)}
        options = self.extra_options.to_settings() if isinstance(self.extra_options, _Options) else _plain(self.extra_options)
        settings: Dict[str, Any] = {"quant_config": fields, "extra_options": options}
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


def _qconfig(spec: type, weight: Optional[type] = None, algorithms: Optional[List[AlgoConfig]] = None, **options: Any) -> QConfig:
    layers = QLayerConfig(input_tensors=spec(), weight=(weight or spec)())
    return QConfig(global_config=layers, algo_config=algorithms, extra_options=options)


def _adaround() -> List[AlgoConfig]:
    return [AdaRoundConfig(learning_rate=0.1, num_iterations=1000)]


def _adaquant() -> List[AlgoConfig]:
    return [AdaQuantConfig(learning_rate=1e-5, num_iterations=3000)]


#: Layered configurations, which differ from the presets of the same names (docs/from-amd-quark.md).
_FORCED: Dict[str, Any] = {"ForceQuantizeNoInputCheck": True}
_FLOAT_SCALES: Dict[str, Any] = {**_FORCED, "AlignSlice": False, "FoldRelu": True, "AlignConcat": True}
_16_BITS: Dict[str, Any] = {**_FLOAT_SCALES, "AlignEltwiseQuantType": True}
XINT8_QCONFIG = _qconfig(XInt8Spec, **_FORCED)
XINT8_ADAROUND_QCONFIG = _qconfig(XInt8Spec, algorithms=_adaround(), **_FORCED)
XINT8_ADAQUANT_QCONFIG = _qconfig(XInt8Spec, algorithms=_adaquant(), **_FORCED)
VINT8_QCONFIG = _qconfig(
    XInt8Spec, OptimizeModel=False, EnableNPUCnn=False, UseRandomData=True, ConvertBNToConv=True, ConvertSigmoidToHardSigmoid=False,
    ConvertClipToRelu=True, ConvertSplitToSlice=True, SplitLargeKernelPool=False, ReplaceClip6Relu=True,
    ConvertReduceMeanToGlobalAvgPool=False, RemoveQDQConvClip=False, RemoveQDQConvPRelu=False, RemoveQDQConvRelu=False,
    RemoveQDQConvLeakyRelu=False, Int32Bias=False, DedicatedQDQPair=True, QuantizeAllOpTypes=True)
A8W8_QCONFIG = _qconfig(Int8Spec, **_FLOAT_SCALES)
A8W8_ADAROUND_QCONFIG = _qconfig(Int8Spec, algorithms=_adaround(), **_FLOAT_SCALES)
A8W8_ADAQUANT_QCONFIG = _qconfig(Int8Spec, algorithms=_adaquant(), **_FLOAT_SCALES)
A16W8_QCONFIG = _qconfig(Int16Spec, Int8Spec, **_16_BITS)
A16W8_ADAROUND_QCONFIG = _qconfig(Int16Spec, Int8Spec, _adaround(), **_16_BITS)
A16W8_ADAQUANT_QCONFIG = _qconfig(Int16Spec, Int8Spec, _adaquant(), **_16_BITS)
BF16_QCONFIG = _qconfig(BFloat16Spec, **_FORCED)
BFP16_QCONFIG = _qconfig(BFP16Spec)


def get_library_path(device: str = "CPU") -> str:
    """Path of the library with the operators of com.amd.quark, for `SessionOptions.register_custom_ops_library`."""
    if device.upper() != "CPU":
        raise ValueError(f"device: found {device!r}, allowed is 'CPU'; the operators run on the CPU")
    return quarkq.ort_ops_library()


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
    """Quantizes models with a configuration. `report`: of the last call; `compat`: as of quarkq.quantize()."""

    def __init__(self, config: Union[Config, QConfig], *, compat: Optional[str] = None) -> None:
        self.config = config
        self.compat = compat
        self.report: Optional[quarkq.Report] = None

    def quantize_model(self, model_input: Any, model_output: Optional[PathLike] = None, calibration_data_reader: Any = None,
                       calibration_data_path: Optional[PathLike] = None, algorithms: Optional[List[AlgoConfig]] = None) -> Any:
        """Without `model_output` the quantized onnx.ModelProto is returned."""
        if algorithms:
            raise TypeError("algorithms: pass them to the configuration: QConfig(algo_config=[...])")
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
