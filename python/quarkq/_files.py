# SPDX-License-Identifier: MIT
"""What the wheel holds beside Python: two libraries and the program."""
from __future__ import annotations

import os
import subprocess
import sys

_WINDOWS = os.name == "nt"
_FOLDER = os.path.dirname(os.path.abspath(__file__))


def _file(variable: str, *parts: str) -> str:
    """A file of the package. `variable`: an environment variable that names another one, for tests of a build tree."""
    path = os.environ.get(variable) or os.path.join(_FOLDER, *parts)
    if not os.path.isfile(path):
        raise FileNotFoundError(f"{path}: this installation of quarkq is not complete; install the wheel again")
    return path


def library() -> str:
    return _file("QUARKQ_LIBRARY", "lib", "quarkq.dll" if _WINDOWS else "libquarkq.so")


def ort_ops_library() -> str:
    """Path of the library with the operators of com.amd.quark, for `SessionOptions.register_custom_ops_library`."""
    return _file("QUARKQ_ORT_OPS_LIBRARY", "lib", "quarkq_ort_ops.dll" if _WINDOWS else "libquarkq_ort_ops.so")


def program() -> str:
    """Path of the program `quarkq`."""
    return _file("QUARKQ_PROGRAM", "bin", "quarkq.exe" if _WINDOWS else "quarkq")


def main() -> None:
    """The console script: becomes the program. On Windows, where programs cannot be replaced, it waits for the program."""
    path = program()
    if _WINDOWS:
        sys.exit(subprocess.call([path, *sys.argv[1:]]))
    os.execv(path, [path, *sys.argv[1:]])
