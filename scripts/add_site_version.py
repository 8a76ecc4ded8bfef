#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds a built site to a folder of versions: add_site_version.py SITE FOLDER VERSION

VERSION is a number (0.1.0), or "dev" for the main branch. FOLDER gets VERSION/, versions.json (which the selector of mkdocs-material reads),
latest/ with the pages of the largest number, and an index.html that leads there. A version that is there already is replaced."""
import json
import os
import re
import shutil
import sys

DEV = "dev"
REDIRECT = '<!doctype html><meta charset="utf-8"><title>quarkq</title><meta http-equiv="refresh" content="0; url={0}/"><a href="{0}/">{0}</a>\n'


def number(version):
    return tuple(int(part) for part in version.split("."))


def versions_in(folder):
    """Numbers from the largest on, then dev."""
    numbers = [name for name in os.listdir(folder) if re.fullmatch(r"\d+\.\d+\.\d+", name)]
    return sorted(numbers, key=number, reverse=True) + [name for name in os.listdir(folder) if name == DEV]


def replace(site, place):
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(site, place)


def add(site, folder, version):
    os.makedirs(folder, exist_ok=True)
    replace(site, os.path.join(folder, version))
    versions = versions_in(folder)
    newest = versions[0]
    if newest == version and version != DEV:
        replace(site, os.path.join(folder, "latest"))
    rows = [{"version": name, "title": name, "aliases": ["latest"] if name == newest and name != DEV else []} for name in versions]
    with open(os.path.join(folder, "versions.json"), "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)
    with open(os.path.join(folder, "index.html"), "w", encoding="utf-8") as file:
        file.write(REDIRECT.format(DEV if newest == DEV else "latest"))
    open(os.path.join(folder, ".nojekyll"), "w", encoding="utf-8").close()


def main():
    if len(sys.argv) != 4 or not os.path.isfile(os.path.join(sys.argv[1], "index.html")) or not re.fullmatch(r"dev|\d+\.\d+\.\d+", sys.argv[3]):
        sys.exit("usage: add_site_version.py SITE FOLDER VERSION (a number such as 0.1.0, or dev)")
    add(*sys.argv[1:])


if __name__ == "__main__":
    main()
