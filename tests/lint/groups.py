#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files are compiled in groups (CMAKE_UNITY_BUILD): functions of two files of one library that stand in unnamed namespaces of the
same namespace must have different names. Types and constants the compiler refuses; of functions it would choose an overload."""
import collections
import re
import sys

import ratchet
import sources

NAMESPACE = re.compile(r"^namespace (quarkq[\w:]*) \{")
FUNCTION = re.compile(r"^(?:template.*> )?[\w:<>,&*\s\[\]]*?[\s&*>](\w+)\(")
NO_FUNCTION = ("TEST", "INSTANTIATE", "using", "constexpr")


def unnamed_functions(lines):
    """(namespace, name, line number) of the functions that stand in an unnamed namespace."""
    namespace, inside = "", False
    for number, line in enumerate(lines, 1):
        match = NAMESPACE.match(line)
        if match:
            namespace = match.group(1)
        if line.startswith("namespace {"):
            inside = True
        elif line == "}  // namespace":
            inside = False
        elif inside and line and line[0] not in " #/}" and not line.startswith(NO_FUNCTION):
            found = FUNCTION.match(line)
            if found:
                yield namespace, found.group(1), number


def library_of(path):
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] in ("src", "tools") else parts[0]


def check(root):
    places = collections.defaultdict(dict)
    for path in sources.files_below(root, "src", "tools", "tests"):
        if path.endswith(".cpp") and not path.endswith(".isa.cpp"):
            for namespace, name, number in unnamed_functions(sources.read_lines(root, path)):
                places[library_of(path), namespace, name].setdefault(path, number)
    return [f"{path}:{number}: {namespace}::{name} has the name of a function of {next(iter(files))}"
            for (_, namespace, name), files in places.items() for path, number in list(files.items())[1:]]


FILE = "namespace quarkq::ir {{\nnamespace {{\n\nint {}(int a) {{ return a; }}\n\n}}  // namespace\n}}  // namespace quarkq::ir\n"
GOOD = {"src/ir/a.cpp": FILE.format("size"), "src/ir/b.cpp": FILE.format("count"), "src/plan/a.cpp": FILE.format("size")}
BAD = [("src/ir/b.cpp:4", {"src/ir/b.cpp": FILE.format("size")})]


def main():
    ok = sources.self_test("groups", check, GOOD, BAD)
    return ratchet.report("groups", check(sources.ROOT)) and ok


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
