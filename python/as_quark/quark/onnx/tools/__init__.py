# SPDX-License-Identifier: MIT
"""The package of `python -m quark.onnx.tools.evaluate`."""
from quark._as_quark import missing

__getattr__ = missing(__name__)
