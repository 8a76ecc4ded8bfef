#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packs what scripts/build_windows.sh built: pack_windows.py BUILD DIST

DIST/quarkq-VERSION-py3-none-win_amd64.whl has the contents of the Linux wheel, DIST/quarkq-VERSION-windows-AMD64.zip the program, the
libraries and the headers. Neither needs a tool of Windows. The same files give the same bytes ($SOURCE_DATE_EPOCH)."""
import os
import re
import subprocess
import sys
import tempfile

from wheel_files import files_below, read, record, version, write_within

STRIP = "x86_64-w64-mingw32-strip"
TAG = "py3-none-win_amd64"
MOST_BYTES = 40 << 20
# Packages of Debian whose licences belong to what is linked statically.
LICENCES = ("libdnnl2", "libprotobuf32", "libyaml-cpp0.7", "zlib1g", "gcc-mingw-w64-base", "mingw-w64-common", "libeigen3-dev",
            "nlohmann-json3-dev", "libcli11-dev", "libspdlog-dev", "libfmt-dev", "libstb-dev", "libxxhash-dev")


def stripped(build, name):
    """The file without symbols; the list of exports stays."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name)
        subprocess.run([STRIP, "--strip-all", "-o", path, os.path.join(build, name)], check=True)
        return read(path)


def licences():
    found = {"quarkq.txt": read("LICENSE")}
    for package in LICENCES:
        path = f"/usr/share/doc/{package}/copyright"
        if os.path.isfile(path):
            found[package + ".txt"] = read(path)
    return found


def metadata():
    project = read("pyproject.toml").decode()
    fields = [("Metadata-Version", "2.1"), ("Name", "quarkq"), ("Version", version()),
              ("Summary", re.search(r'^description = "(.*)"', project, re.M).group(1)), ("License", "MIT"),
              ("Requires-Python", re.search(r'^requires-python = "(.*)"', project, re.M).group(1)),
              ("Classifier", "Operating System :: Microsoft :: Windows"), ("Classifier", "Programming Language :: Python :: 3"),
              ("Classifier", "Typing :: Typed"), ("Requires-Dist", re.search(r'^dependencies = \["(.*)"\]', project, re.M).group(1)),
              ("Description-Content-Type", "text/markdown")]
    return ("".join(f"{name}: {value}\n" for name, value in fields) + "\n").encode() + read("README.md")


def wheel(build):
    """{path in the wheel: content}."""
    contents = {f"quarkq/{path}": content for path, content in files_below("python", "quarkq").items()}
    contents["quarkq/bin/quarkq.exe"] = stripped(build, "quarkq.exe")
    for name in ("quarkq.dll", "quarkq_ort_ops.dll"):
        contents[f"quarkq/lib/{name}"] = stripped(build, name)
    contents.update({f"quarkq/licenses/{name}": content for name, content in licences().items()})
    info = f"quarkq-{version()}.dist-info"
    script = re.search(r'\[project\.scripts\]\n(.*)', read("pyproject.toml").decode()).group(1).replace('"', "")
    contents[f"{info}/METADATA"] = metadata()
    contents[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: quarkq\nRoot-Is-Purelib: false\nTag: {TAG}\n".encode()
    contents[f"{info}/entry_points.txt"] = f"[console_scripts]\n{script}\n".encode()
    contents[f"{info}/RECORD"] = record(contents, f"{info}/RECORD")
    return contents


def archive(build):
    """{path in the .zip: content}."""
    top = f"quarkq-{version()}-windows-AMD64"
    contents = {f"{top}/bin/{name}": stripped(build, name) for name in ("quarkq.exe", "quarkq.dll", "quarkq_ort_ops.dll")}
    with open(os.path.join(build, "libquarkq.dll.a"), "rb") as file:
        contents[f"{top}/lib/libquarkq.dll.a"] = file.read()
    contents.update({f"{top}/include/quarkq/{path}": content for path, content in files_below("include", "quarkq").items()})
    contents.update({f"{top}/licenses/{name}": content for name, content in licences().items()})
    for name in ("README.md", "CHANGELOG.md"):
        contents[f"{top}/{name}"] = read(name)
    return contents


def main():
    build, dist = sys.argv[1:]
    for name, contents in ((f"quarkq-{version()}-{TAG}.whl", wheel(build)), (f"quarkq-{version()}-windows-AMD64.zip", archive(build))):
        write_within(os.path.join(dist, name), contents, MOST_BYTES)


if __name__ == "__main__":
    main()
