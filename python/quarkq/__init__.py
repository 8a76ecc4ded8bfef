# SPDX-License-Identifier: MIT
"""quarkq: float ONNX models to quantized ones, for AMD NPU tool chains and ONNX Runtime (docs/python.md)."""
from __future__ import annotations

from ._arrays import Arrays
from ._errors import (
    DataError,
    Finding,
    Interrupted,
    ModelError,
    NpuLimitError,
    QualityGateError,
    QuarkqError,
    ResourceError,
    UsageError,
)
from ._files import ort_ops_library, program
from ._report import Progress, Report
from ._verbs import analyze, calibrate, check, convert, evaluate, inspect, merge, optimize, quantize, run, score, tune, version

__all__ = [
    "Arrays", "DataError", "Finding", "Interrupted", "ModelError", "NpuLimitError", "Progress", "QualityGateError", "QuarkqError", "Report",
    "ResourceError", "UsageError", "analyze", "calibrate", "check", "convert", "evaluate", "inspect", "merge", "optimize", "ort_ops_library",
    "program", "quantize", "run", "score", "tune", "version",
]


def __getattr__(name: str) -> str:
    """`__version__` loads the library only when it is read."""
    if name == "__version__":
        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
