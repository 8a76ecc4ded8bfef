# SPDX-License-Identifier: MIT
"""The package name of amd-quark, for scripts that run unchanged on quarkq (docs/from-amd-quark.md)."""
from . import _as_quark

_as_quark.refuse_a_second_quark()
_as_quark.explain_missing_modules()
__version__ = _as_quark.version()
__all__ = ["__version__"]
