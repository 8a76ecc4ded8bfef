# SPDX-License-Identifier: MIT
"""The names of quark.onnx.operators.custom_ops: the library is part of the wheel of quarkq, so nothing is compiled."""
from quarkq.compat.quark import get_library_path as get_library_path

from quark._as_quark import missing

_COP_DOMAIN = "com.amd.quark"
_COP_VERSION = 1
__getattr__ = missing(__name__)
