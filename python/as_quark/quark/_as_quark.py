# SPDX-License-Identifier: MIT
"""What the forwarding modules share: the version, the check for an installed amd-quark, and advice on names that are missing."""
from __future__ import annotations

import importlib
import importlib.abc
import os
import sys
from importlib import metadata
from typing import Any, Callable, Optional

OWN = "quarkq-as-quark"
REFERENCE = "amd-quark"
#: The release whose names and options quarkq has; the local part tells the two packages apart.
RELEASE = "0.13.0"
LOCAL = "+quarkq"

#: Beginning or end of a missing name -> what to do instead. The first row that fits is used.
_ADVICE = (
    ("quark.torch", "only the ONNX side is provided; export the model to ONNX, or install amd-quark in another environment"),
    ("quark.onnx.tools", "quarkq convert, evaluate and quantize replace the tools; `quarkq list conversions` names them"),
    ("AutoSearch", "quarkq tune --search FILE runs the configuration as JSON or YAML"),
    ("AutoSearchPro", "quarkq tune --search FILE runs the configuration as JSON or YAML"),
    ("auto_search", "quarkq tune --search FILE runs the configuration as JSON or YAML"),
    ("RandomDataReader", "set extra_options['UseRandomData'] = True and pass no reader"),
    ("PathDataReader", "pass the folder as calibration_data_path"),
    ("quantize_static", "call ModelQuantizer(config).quantize_model(...)"),
    ("quantize_dynamic", "set use_dynamic_quant=True in the configuration and call ModelQuantizer(config).quantize_model(...)"),
)
_DEFAULT_ADVICE = "quarkq has no counterpart; docs/from-amd-quark.md of quarkq lists the calls that it takes"


def version() -> str:
    """Returns RELEASE with the version of this package as its local part, for example 0.13.0+quarkq.0.1.0."""
    try:
        return f"{RELEASE}{LOCAL}.{metadata.version(OWN)}"
    except metadata.PackageNotFoundError:  # run from the source tree
        return RELEASE + LOCAL


def _installed_reference() -> Optional[metadata.Distribution]:
    """Returns an installation of amd-quark that is not the stand-in of this package, or None."""
    for found in metadata.distributions(name=REFERENCE):
        if LOCAL not in str(found.version):
            return found
    return None


def refuse_a_second_quark() -> None:
    """Raises ImportError if amd-quark is installed as well: the files of both packages are in one folder, quark/."""
    found = _installed_reference()
    if found is None:
        return
    raise ImportError(
        f"amd-quark {found.version} is installed in {os.path.dirname(str(found.locate_file('quark')))}, and quarkq-as-quark too; both "
        "own the package `quark`. To keep amd-quark: pip uninstall quarkq-as-quark, then pip install --force-reinstall --no-deps "
        "amd-quark. To keep quarkq-as-quark: pip uninstall quarkq-as-quark, pip uninstall amd-quark, then pip install quarkq-as-quark")


def advice(name: str) -> str:
    """Returns the message for a missing module or name, such as "quark.torch" or "quark.onnx.AutoSearch"."""
    last = name.rpartition(".")[2]
    for known, text in _ADVICE:
        if last == known or name == known or name.startswith(known + "."):
            return f"{name}: {text}"
    return f"{name}: {_DEFAULT_ADVICE}"


class _MissingModules(importlib.abc.MetaPathFinder):
    """The last finder: it is called for modules of `quark` that do not exist."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        if fullname.startswith("quark."):
            # Without `name`: `from quark import torch` would replace the text by one of its own.
            raise ModuleNotFoundError(advice(fullname))


def explain_missing_modules() -> None:
    """Makes `import quark.torch` and the like fail with advice. Only the first call has an effect."""
    if not any(isinstance(finder, _MissingModules) for finder in sys.meta_path):
        sys.meta_path.append(_MissingModules())


def missing(module: str) -> Callable[[str], Any]:
    """Returns a module's `__getattr__`: it imports submodules, and raises ImportError with advice for other names."""

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        if hasattr(sys.modules[module], "__path__"):
            return importlib.import_module(f"{module}.{name}")
        raise ImportError(advice(f"{module}.{name}"))

    return __getattr__
