#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes DIST/quarkq_as_quark-VERSION-py3-none-any.whl: pack_as_quark.py DIST

The wheel has the modules below python/as_quark/quark, and the metadata of a distribution "amd-quark" for version checks of scripts
(docs/from-amd-quark.md#unchanged-scripts). The same files give the same bytes ($SOURCE_DATE_EPOCH)."""
import os
import re
import sys

from wheel_files import files_below, read, record, version, write_within

NAME = "quarkq-as-quark"
MOST_BYTES = 16 << 10
SUMMARY = "Module names of amd-quark's ONNX side, forwarded to quarkq"


def release():
    """The version that the stand-in has for version checks, without the one of this package."""
    text = read("python", "as_quark", "quark", "_as_quark.py").decode()
    return "".join(re.search(rf'^{name} = "(.*)"', text, re.M).group(1) for name in ("RELEASE", "LOCAL"))


def metadata():
    requires = re.search(r'^requires-python = "(.*)"', read("pyproject.toml").decode(), re.M).group(1)
    fields = [("Metadata-Version", "2.1"), ("Name", NAME), ("Version", version()), ("Summary", SUMMARY), ("License", "MIT"),
              ("Requires-Python", requires), ("Requires-Dist", f"quarkq=={version()}"), ("Classifier", "Programming Language :: Python :: 3"),
              ("Description-Content-Type", "text/markdown")]
    return ("".join(f"{name}: {value}\n" for name, value in fields) + "\n").encode() + read("python", "as_quark", "README.md")


def stand_in():
    """The metadata that importlib.metadata and pip find under the name amd-quark. It has no RECORD, so pip refuses to replace it by
    AMD's package, and names its installer, which is this package."""
    stands_for = f"{release()}.{version()}"
    text = (f"Metadata-Version: 2.1\nName: amd-quark\nVersion: {stands_for}\n"
            f"Summary: Stand-in of {NAME} for version checks. This is not AMD's package.\n")
    folder = f"amd_quark-{stands_for}.dist-info"
    return {f"{folder}/METADATA": text.encode(), f"{folder}/INSTALLER": f"{NAME}\n".encode()}


def wheel():
    """{path in the wheel: content}. A wheel has one .dist-info folder at the top, so the stand-in is part of its data."""
    stem = f"{NAME.replace('-', '_')}-{version()}"
    contents = {f"quark/{path}": content for path, content in files_below("python", "as_quark", "quark").items()}
    contents.update({f"{stem}.data/purelib/{path}": content for path, content in stand_in().items()})
    contents[f"{stem}.dist-info/METADATA"] = metadata()
    contents[f"{stem}.dist-info/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: quarkq\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    contents[f"{stem}.dist-info/licenses/LICENSE"] = read("LICENSE")
    contents[f"{stem}.dist-info/RECORD"] = record(contents, f"{stem}.dist-info/RECORD")
    return contents


def main():
    path = os.path.join(sys.argv[1], f"{NAME.replace('-', '_')}-{version()}-py3-none-any.whl")
    write_within(path, wheel(), MOST_BYTES)


if __name__ == "__main__":
    main()
