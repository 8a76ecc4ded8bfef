# SPDX-License-Identifier: MIT
"""Samples by number, as the library asks for them, from what callers have."""
from __future__ import annotations

import os
import re
import tempfile
from typing import Any, Callable, Iterable, List, Optional, Tuple

from ._arrays import Tensor, array_of, tensors_of
from ._errors import DataError

Preprocess = Callable[[Any], Any]


class Source:
    """`count` samples; read() may be asked for one more than once, in any order."""

    count = 0
    #: whether read() runs the caller's code, which belongs on the caller's thread
    calls_back = True

    def read(self, index: int) -> List[Tensor]:
        raise NotImplementedError

    def close(self) -> None:
        pass


class _Indexed(Source):
    """What has a length and takes numbers: lists, arrays, datasets."""

    def __init__(self, data: Any, preprocess: Optional[Preprocess]) -> None:
        self._data = data
        self._preprocess = preprocess
        self.count = len(data)

    def read(self, index: int) -> List[Tensor]:
        sample = self._data[index]
        return tensors_of(self._preprocess(sample) if self._preprocess else sample, f"sample {index}")


class _Copied(Source):
    """What can only be walked through, once: copied to a temporary file, so that memory stays constant."""

    calls_back = False

    def __init__(self, data: Iterable[Any], preprocess: Optional[Preprocess]) -> None:
        self._file = tempfile.TemporaryFile(prefix="quarkq-")
        self._samples: List[List[Tuple[str, str, Tuple[int, ...], int, int]]] = []
        offset = 0
        try:
            for number, sample in enumerate(data):
                entries = []
                for tensor in tensors_of(preprocess(sample) if preprocess else sample, f"sample {number}"):
                    size = self._file.write(_bytes_of(tensor))
                    entries.append((tensor.name, tensor.type, tensor.dims, offset, size))
                    offset += size
                self._samples.append(entries)
            self._file.flush()
        except BaseException:
            self.close()
            raise
        self.count = len(self._samples)

    def read(self, index: int) -> List[Tensor]:
        descriptor = self._file.fileno()
        return [Tensor(name, type_name, dims, _read_all(descriptor, offset, size))
                for name, type_name, dims, offset, size in self._samples[index]]

    def close(self) -> None:
        self._file.close()


def _bytes_of(tensor: Tensor) -> Any:
    return tensor.data if isinstance(tensor.data, bytes) else tensor.data.reshape(-1).view("uint8")


def _read_all(descriptor: int, offset: int, size: int) -> bytes:
    parts = []
    while size > 0:  # one pread() gives at most 2 GB
        part = os.pread(descriptor, size, offset)
        if not part:
            raise DataError("the temporary copy of the samples was cut off")
        parts.append(part)
        offset += len(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def write_folder(source: Source, folder: str) -> None:
    """Writes the samples as the program reads them: NUMBER.npy, or INPUT/NUMBER.npy if the inputs are named."""
    import numpy as np

    if source.count == 0:
        raise DataError("samples: the source has none, one is needed at least")
    for number in range(source.count):
        for tensor in source.read(number):
            array = array_of(tensor.type, tensor.dims, tensor.data) if isinstance(tensor.data, bytes) else tensor.data.reshape(tensor.dims)
            place = os.path.join(folder, re.sub("[/:]", "_", tensor.name))
            os.makedirs(place, exist_ok=True)
            np.save(os.path.join(place, f"{number:06}.npy"), array)


def open_source(data: Any, preprocess: Optional[Preprocess]) -> Source:
    if isinstance(data, (dict, bytes)):
        raise TypeError(f"data: found {type(data).__name__}, allowed are a folder, or an iterable of samples: arrays, or dicts "
                        "of arrays by input name")
    if hasattr(data, "__len__") and hasattr(data, "__getitem__"):
        return _Indexed(data, preprocess)
    return _Copied(data, preprocess)
