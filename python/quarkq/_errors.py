# SPDX-License-Identifier: MIT
"""What the library reports: findings, and an exception per exit code of the program."""
from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence, Type


class Finding(NamedTuple):
    """Something worth knowing about a run (docs/diagnostics.md lists the ids)."""

    severity: str  #: "warning" or "notice"
    id: str
    subject: str
    text: str
    remedy: str = ""


class QuarkqError(Exception):
    """A call failed; nothing was written. `diagnostics`: what was found before."""

    exit_code = 1

    def __init__(self, message: str, diagnostics: Sequence[Finding] = (), exit_code: Optional[int] = None) -> None:
        super().__init__(message)
        self.message = message
        self.diagnostics: List[Finding] = list(diagnostics)
        if exit_code is not None:
            self.exit_code = exit_code


class UsageError(QuarkqError, ValueError):
    """A wrong argument or setting."""

    exit_code = 2


class ModelError(QuarkqError, ValueError):
    """A malformed model, or one with what is not supported."""

    exit_code = 3


class DataError(QuarkqError, ValueError):
    """Samples, results or statistics that do not fit."""

    exit_code = 4


class QualityGateError(QuarkqError):
    """A required quality was missed."""

    exit_code = 5


class NpuLimitError(QuarkqError):
    """A limit of an NPU does not hold."""

    exit_code = 6


class ResourceError(QuarkqError):
    """A limit of memory or size was met."""

    exit_code = 7


class Interrupted(QuarkqError):
    """`progress` returned False."""

    exit_code = 130


_CLASSES: Dict[int, Type[QuarkqError]] = {
    kind.exit_code: kind
    for kind in (UsageError, ModelError, DataError, QualityGateError, NpuLimitError, ResourceError, Interrupted)
}


def error_of(exit_code: int, message: str, diagnostics: Sequence[Finding]) -> QuarkqError:
    return _CLASSES.get(exit_code, QuarkqError)(message, diagnostics, exit_code)
