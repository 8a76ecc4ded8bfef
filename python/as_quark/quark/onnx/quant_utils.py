# SPDX-License-Identifier: MIT
"""The names of quark.onnx.quant_utils, from quarkq.compat.quark."""
from quarkq.compat.quark import *  # noqa: F401, F403

from quark._as_quark import missing

__getattr__ = missing(__name__)
