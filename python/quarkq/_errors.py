# SPDX-License-Identifier: MIT
"""What the library reports: findings, and an exception per exit code of the program."""
from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Sequence, Type


#: Options of the program in messages, where the functions have an argument of another name.
_ARGUMENTS = {"calib": "data", "eval": "eval_data", "shape": "shapes", "labels-output": "scores"}
_SAME_NAME = "config|data|goal|head|labels|metric|preprocess|require|state|target|top"
_OPTION = re.compile(
    r"(?P<command>\bquarkq [a-z]+ -[^;)]*)"  # a line for a shell stays one
    r"|--set (?P<key>[\w.-]+): "
    r"|--set (?:'(?P<quoted>[^']*)'|(?P<setting>[\w.-]+=\S*[^\s,;:.)]))"
    rf"|--(?P<option>{'|'.join(_ARGUMENTS)}|{_SAME_NAME})\b(?!-)(?: (?:DIR|FILE|NAME|INPUT=[\d,]+))?")


def _in_python(found: "re.Match[str]") -> str:
    if found["command"]:
        return found[0]
    if found["key"]:
        return f"settings: {found['key']}: "
    if found["option"]:
        return _ARGUMENTS.get(found["option"], found["option"])
    return f"settings={[found['quoted'] or found['setting']]}"


def in_python(text: str) -> str:
    """A message of the library, with the arguments of the functions in the place of the program's options."""
    return _OPTION.sub(_in_python, text).replace("] settings=[", ", ")


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
    return _CLASSES.get(exit_code, QuarkqError)(in_python(message), diagnostics, exit_code)
