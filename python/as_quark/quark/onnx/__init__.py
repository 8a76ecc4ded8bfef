# SPDX-License-Identifier: MIT
"""The names of quark.onnx, from quarkq.compat.quark."""
from quarkq.compat.quark import *  # noqa: F401, F403

from quark._as_quark import missing, version
from quark.onnx.operators.custom_ops import _COP_DOMAIN, _COP_VERSION  # noqa: F401

__version__ = version()
__getattr__ = missing(__name__)
