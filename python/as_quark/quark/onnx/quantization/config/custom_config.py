# SPDX-License-Identifier: MIT
"""The names of quark.onnx.quantization.config.custom_config, from quarkq.compat.quark. `<PRESET>_CONFIG` is the preset."""
import re
from typing import Any

from quarkq.compat.quark import *  # noqa: F401, F403
from quarkq.compat.quark import get_default_config

from quark._as_quark import missing

_missing = missing(__name__)


def __getattr__(name: str) -> Any:
    if re.fullmatch(r"[A-Z0-9_]+_CONFIG", name):
        return globals().setdefault(name, get_default_config(name[: -len("_CONFIG")]))
    return _missing(name)
