# SPDX-License-Identifier: MIT
"""The C interface (include/quarkq/c_api.h) in ctypes. The library is loaded by the first call that needs it."""
from __future__ import annotations

import ctypes
import os
import threading
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p
from typing import Any, List, Optional, Sequence

from . import _files
from ._arrays import Tensor


class CTensor(Structure):
    _fields_ = [("name", c_char_p), ("type", c_char_p), ("dims", POINTER(c_int64)), ("rank", c_size_t), ("data", c_void_p),
                ("bytes", c_size_t)]


class CBytes(Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]


READ = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(POINTER(CTensor)), POINTER(c_size_t))


class CSamples(Structure):
    _fields_ = [("count", c_size_t), ("read", READ), ("context", c_void_p)]


class CProgress(Structure):
    _fields_ = [("phase", c_char_p), ("unit", c_char_p), ("done", c_size_t), ("total", c_size_t), ("number", c_size_t),
                ("count", c_size_t)]


ON_PROGRESS = CFUNCTYPE(c_int, c_void_p, POINTER(CProgress))
METRIC = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(CTensor), POINTER(CTensor), c_size_t, POINTER(c_double))
ON_RESULT = CFUNCTYPE(c_int, c_void_p, c_char_p, POINTER(CTensor), c_size_t)


class CCallbacks(Structure):
    _fields_ = [("context", c_void_p), ("on_progress", ON_PROGRESS), ("metric", METRIC), ("on_result", ON_RESULT)]


class CArguments(Structure):
    _fields_ = [("size", c_size_t), ("verb", c_char_p), ("request", c_char_p), ("model", CBytes), ("quantized", CBytes),
                ("samples", CSamples), ("evaluation", CSamples), ("callbacks", CCallbacks)]


_FUNCTIONS = {
    "quarkq_call": (c_void_p, [POINTER(CArguments)]),
    "quarkq_free": (None, [c_void_p]),
    "quarkq_exit_code": (c_int, [c_void_p]),
    "quarkq_report": (c_char_p, [c_void_p]),
    "quarkq_message": (c_char_p, [c_void_p]),
    "quarkq_findings": (c_char_p, [c_void_p]),
    "quarkq_model": (CBytes, [c_void_p]),
    "quarkq_tail": (CBytes, [c_void_p]),
    "quarkq_joined": (CBytes, [c_void_p]),
    "quarkq_version": (c_char_p, []),
}
_SPINNING = "GOMP_SPINCOUNT"  # read once, when OpenMP is loaded; why it is bounded: docs/adr/0003-spinning.md
_lock = threading.Lock()
_loaded: Optional[ctypes.CDLL] = None


def load() -> Any:
    global _loaded
    with _lock:
        if _loaded is None:
            _loaded = _load_bounded()
        return _loaded


def _load_bounded() -> ctypes.CDLL:
    bounds = _SPINNING not in os.environ and "OMP_WAIT_POLICY" not in os.environ
    if bounds:
        os.environ[_SPINNING] = "1000"
    try:
        library = ctypes.CDLL(_files.library())
    finally:
        if bounds:
            del os.environ[_SPINNING]
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


def version() -> str:
    """Version of the library."""
    return str(load().quarkq_version().decode())


def bytes_view(data: Optional[bytes]) -> CBytes:
    """Valid as long as `data` is."""
    if data is None:
        return CBytes(None, 0)
    return CBytes(ctypes.cast(ctypes.c_char_p(data), c_void_p), len(data))


class TensorList:
    """C tensors over the memory of Python ones, which it keeps alive."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._alive: List[Any] = []
        self.count = len(tensors)
        self.items = (CTensor * max(1, self.count))()
        for item, tensor in zip(self.items, tensors):
            dims = (c_int64 * max(1, len(tensor.dims)))(*tensor.dims)
            self._alive += [dims, tensor.data]
            item.name = tensor.name.encode()
            item.type = tensor.type.encode()
            item.dims = dims
            item.rank = len(tensor.dims)
            if isinstance(tensor.data, bytes):
                item.data = ctypes.cast(ctypes.c_char_p(tensor.data), c_void_p)
                item.bytes = len(tensor.data)
            else:
                item.data = tensor.data.ctypes.data
                item.bytes = tensor.data.nbytes


def tensors_from(items: Any, count: int) -> List[Tensor]:
    """Copies of C tensors."""
    copies = []
    for i in range(count):
        item = items[i]
        dims = tuple(item.dims[axis] for axis in range(item.rank))
        data = ctypes.string_at(item.data, item.bytes) if item.bytes else b""
        copies.append(Tensor(item.name.decode(), item.type.decode(), dims, data))
    return copies
