#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fills in the manifests of packaging/ for a release: render_packages.py DIST PROJECT OUT

DIST has the files of the release (scripts/build_release.sh, scripts/build_windows.sh --package), PROJECT is the address of the project
(https://github.com/OWNER/NAME), and OUT gets winget/*.yaml and conda/recipe.yaml. Placeholders are @VERSION@, @PROJECT@, @RELEASE@ (the address
of the files of the release), @LINUX_WHEEL@ and @SHA256:FILE@."""
import glob
import hashlib
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROJECT = re.compile(r"https://[\w.-]+/[\w.-]+/[\w.-]+")


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as file:
        return file.read()


def version():
    return re.search(r"project\(quarkq VERSION ([0-9.]+)", read("CMakeLists.txt")).group(1)


def sha256_of(dist, name):
    path = os.path.join(dist, name)
    if not os.path.isfile(path):
        sys.exit(f"render_packages.py: {path}: no such file; build it first")
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def linux_wheel(dist):
    found = [os.path.basename(path) for path in glob.glob(os.path.join(dist, f"quarkq-{version()}-py3-none-manylinux*_x86_64.whl"))]
    if len(found) != 1:
        sys.exit(f"render_packages.py: {dist}: found {len(found)} wheels for Linux of version {version()}, allowed is one")
    return found[0]


def fill(text, dist, project):
    values = {"VERSION": version(), "PROJECT": project, "RELEASE": f"{project}/releases/download/v{version()}"}
    if "@LINUX_WHEEL@" in text:
        values["LINUX_WHEEL"] = linux_wheel(dist)
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return re.sub(r"@SHA256:([^@\s]+)@", lambda found: sha256_of(dist, found.group(1)), text)


def templates():
    """{path below OUT: template}"""
    paths = sorted(glob.glob(os.path.join(ROOT, "packaging", "*", "*.yaml")))
    return {os.path.relpath(path, os.path.join(ROOT, "packaging")): read(path) for path in paths}


def render(dist, project):
    """{path below OUT: text}"""
    texts = {}
    for path, template in templates().items():
        text = fill(template, dist, project)
        left = re.search(r"@[A-Z0-9_:]+@?", text)
        if left:
            sys.exit(f"render_packages.py: {path}: the placeholder {left.group(0)} is not known")
        # winget compares hashes in capitals.
        texts[path] = re.sub(r"(InstallerSha256: )(\w+)", lambda found: found.group(1) + found.group(2).upper(), text) if path.startswith("winget") else text
    return texts


def main():
    if len(sys.argv) != 4 or not PROJECT.fullmatch(sys.argv[2]):
        sys.exit("usage: render_packages.py DIST https://github.com/OWNER/NAME OUT")
    dist, project, out = sys.argv[1:]
    for path, text in render(dist, project).items():
        os.makedirs(os.path.join(out, os.path.dirname(path)), exist_ok=True)
        with open(os.path.join(out, path), "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        print(os.path.join(out, path))


if __name__ == "__main__":
    main()
