#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the program is made of, as CycloneDX: make_sbom.py PROGRAM|--windows OUT.json

Components: the onnx library (third_party/onnx/build.sh says which), what is in headers only, and the Debian packages of the shared
libraries that PROGRAM loads. With --windows: the sources that third_party/windows/build.sh links, and the libraries of Debian's cross
compiler, instead of shared libraries. Needs cyclonedx-python-lib (scripts/wheel_tools.txt) and dpkg-query.
"""
import datetime
import os
import re
import subprocess
import sys
import uuid

from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot5
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADER_PACKAGES = ("libeigen3-dev", "nlohmann-json3-dev", "libcli11-dev", "libspdlog-dev", "libfmt-dev", "libstb-dev", "libxxhash-dev")
COMPILER_PACKAGES = ("gcc-mingw-w64-x86-64-posix-runtime", "mingw-w64-x86-64-dev")  # libstdc++, libgomp and the C library are linked statically


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as file:
        return file.read()


def lines(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def own_version():
    return re.search(r"project\(quarkq VERSION ([0-9.]+)", read("CMakeLists.txt")).group(1)


def library(purl):
    return Component(name=purl.name, version=purl.version, type=ComponentType.LIBRARY, purl=purl, bom_ref=str(purl))


def onnx():
    script = read("third_party", "onnx", "build.sh")
    version = re.search(r"^version=(.+)$", script, re.M).group(1)
    return library(PackageURL("pypi", name="onnx", version=version))


def loaded_packages(program):
    """Packages of the shared libraries; Debian's own index knows files below /usr/lib by other names, too."""
    packages = set()
    for line in lines("ldd", program):
        match = re.search(r"=> (/\S+)", line)
        if not match:
            continue
        path = os.path.realpath(match.group(1))
        for name in (path, path.removeprefix("/usr")):
            found = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True, check=False).stdout
            if found:
                packages.add(found.split(":")[0])
                break
    return packages


def debian(name):
    state = subprocess.run(["dpkg-query", "-W", "-f=${Version}", name], capture_output=True, text=True, check=False)
    if state.returncode != 0:
        return None
    return library(PackageURL("deb", "debian", name, state.stdout))


def windows_sources():
    """Rows of the table of third_party/windows/build.sh: package, suite, file, SHA-256."""
    rows = re.search(r'^sources="\n(.*?)^"', read("third_party", "windows", "build.sh"), re.M | re.S).group(1).splitlines()
    for name, suite, file, _ in map(str.split, rows):
        yield library(PackageURL("deb", "debian", name, re.search(r"_([\w.+]+?)\.orig", file).group(1), {"arch": "source", "distro": suite}))


def parts_of(program):
    if program == "--windows":
        return [onnx(), *windows_sources(), *map(debian, HEADER_PACKAGES + COMPILER_PACKAGES)]
    return [onnx(), *map(debian, sorted(loaded_packages(program) | set(HEADER_PACKAGES)))]


def main():
    program, output = sys.argv[1:]
    bom = Bom()
    bom.metadata.component = Component(name="quarkq", version=own_version(), type=ComponentType.APPLICATION, bom_ref="quarkq")
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or lines("git", "-C", ROOT, "log", "-1", "--format=%ct")[0])
    bom.metadata.timestamp = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, f"quarkq {own_version()} {seconds}{program if program == '--windows' else ''}")  # the same for the same commit
    for part in filter(None, parts_of(program)):
        bom.components.add(part)
        bom.register_dependency(bom.metadata.component, [part])
    text = JsonV1Dot5(bom).output_as_string(indent=1)
    problem = JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)
    if problem:
        sys.exit(f"make_sbom.py: the result is no CycloneDX 1.5: {problem}")
    with open(output, "w", encoding="utf-8") as file:
        file.write(text + "\n")


if __name__ == "__main__":
    main()
