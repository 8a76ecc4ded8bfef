# SPDX-License-Identifier: MIT
"""NumPy arrays as the library's tensors and back. NumPy is imported when the first array passes."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Tuple, Union

from ._errors import DataError

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

_NAMES = {
    "float32": "FLOAT", "float64": "DOUBLE", "float16": "FLOAT16", "bfloat16": "BFLOAT16", "bool": "BOOL",
    "int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT64",
    "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64",
}
_DTYPES = {onnx: numpy for numpy, onnx in _NAMES.items() if numpy != "bfloat16"}


class Tensor(NamedTuple):
    """One input of one sample. `data` is C-contiguous."""

    name: str
    type: str
    dims: Tuple[int, ...]
    data: Union[bytes, "Array"]


def tensor_of(name: str, value: Any, what: str) -> Tensor:
    """`value`: an array, a tensor of another framework, or nested lists of numbers."""
    import numpy as np

    if hasattr(value, "detach"):  # PyTorch: np.asarray() refuses tensors with gradients, and those of other devices
        value = value.detach().cpu()
    array = np.asarray(value)
    onnx = _NAMES.get(array.dtype.name)
    if onnx is None:
        raise DataError(f"{what}: found an array of {array.dtype}, allowed are {', '.join(_NAMES)}")
    dims = array.shape  # ascontiguousarray() makes a scalar a list of one
    array = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    return Tensor(name, onnx, dims, array)


def tensors_of(sample: Any, what: str) -> List[Tensor]:
    """A sample: an array for models with one input, or a dict of arrays by input name."""
    if isinstance(sample, dict):
        return [tensor_of(str(name), value, f"{what}, input {name}") for name, value in sample.items()]
    if isinstance(sample, (tuple, str, bytes)):
        raise DataError(f"{what}: found {type(sample).__name__}, allowed are an array or a dict of arrays by input name; "
                        "`preprocess=` turns a sample into those")
    return [tensor_of("", sample, what)]


def array_of(type_name: str, dims: Tuple[int, ...], data: bytes) -> "Array":
    import numpy as np

    if type_name == "BFLOAT16":  # NumPy has none: widened
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(dims)
    if type_name not in _DTYPES:
        raise DataError(f"an output of {type_name} has no NumPy type")
    return np.frombuffer(bytearray(data), _DTYPES[type_name]).reshape(dims)


Arrays = Dict[str, "Array"]
