# SPDX-License-Identifier: MIT
"""The package of quark.onnx.operators.custom_ops."""
from quark._as_quark import missing

__getattr__ = missing(__name__)
