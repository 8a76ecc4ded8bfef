#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the compiler reads for each translation unit of build/release (a group of files): the bytes of the unit's sources and headers,
as ninja recorded them. A unit above its bound, or a mean above it, says that a heavy header has come in. Skips without a build."""
import os
import re
import subprocess
import sys

import sources

BUILD = os.path.join(sources.ROOT, "build", "release")
MEGABYTE = 1e6
# Bounds in MB, by the start of the object's path: (of one unit, mean). GCC 12's own headers are 4 MB of each; they may only shrink.
BOUNDS = {"src/": (7.6, 5.6), "tools/": (6.5, 6.1), "tests/": (9.7, 7.6)}
SYSTEM_SLACK = 1.15  # other compilers and systems have other headers


def parse_deps(text):
    """{object: paths} of `ninja -t deps`."""
    units, paths = {}, []
    for line in text.splitlines():
        match = re.match(r"(\S+): #deps", line)
        if match:
            paths = units.setdefault(match.group(1), [])
        elif line.startswith("    "):
            paths.append(line.strip())
    return units


def unit_sizes(units, folder):
    known = {}

    def size(path):
        if path not in known:
            full = os.path.join(folder, path)
            known[path] = os.path.getsize(full) if os.path.exists(full) else 0
        return known[path]
    return {unit: sum(map(size, paths)) / MEGABYTE for unit, paths in units.items()}


def check_sizes(megabytes, slack=1.0):
    findings = []
    for start, (most, mean) in BOUNDS.items():
        group = {unit: size for unit, size in megabytes.items() if unit.startswith(start)}
        findings += [f"{unit}: the compiler reads {size:.2f} MB, allowed are {most * slack:.2f}" for unit, size in sorted(group.items())
                     if size > most * slack]
        found = sum(group.values()) / len(group) if group else 0
        if found > mean * slack:
            findings.append(f"{start}: the compiler reads {found:.2f} MB a unit, allowed are {mean * slack:.2f} on average")
    return findings


def self_test():
    units = parse_deps("src/a.o: #deps 2, deps mtime 1 (VALID)\n    a.cpp\n    a.h\n\nsrc/b.o: #deps 1, deps mtime 1 (VALID)\n    b.cpp\n")
    return units == {"src/a.o": ["a.cpp", "a.h"], "src/b.o": ["b.cpp"]} and not check_sizes({"src/a.o": 1.0}) \
        and len(check_sizes({"src/a.o": 100.0})) == 2


def main():
    if not self_test():
        return sources.report("units (self-test)", ["tests/lint/units.py: finds other things than it should"])
    if not os.path.exists(os.path.join(BUILD, ".ninja_deps")):
        print("skip units: build/release is not built")
        return True
    text = subprocess.run(["ninja", "-C", BUILD, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    units = {unit: paths for unit, paths in parse_deps(text).items() if os.path.exists(os.path.join(BUILD, unit))}
    is_gcc_12 = any("/c++/12/" in path for paths in units.values() for path in paths)
    return sources.report("units", check_sizes(unit_sizes(units, BUILD), 1.0 if is_gcc_12 else SYSTEM_SLACK))


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
