#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No function or constructor takes more than five parameters; lambdas neither."""
import re
import sys

import ratchet
import sizes
import sources

MAX_PARAMETERS = 5
KEYWORDS = {"if", "for", "while", "switch", "catch", "return", "sizeof", "alignas", "decltype", "static_assert", "noexcept"}
# "name(", "operator+(" or a lambda's "](", each followed by parameters.
HEAD = re.compile(r"(?:\b(?P<name>operator\s*\W{1,3}|[A-Za-z_]\w*)|(?P<lambda>\]))\s*\(")
TAIL = re.compile(r"\s*(?:const|noexcept|override|final|mutable|&&?|->\s*[\w:<>,\s*&]+?)*\s*(?:\{|:(?!:)|=\s*0\s*;)")


def closing(text, begin):
    """Index of the bracket that closes the one at `begin`; -1 when there is none."""
    depth = 0
    for at in range(begin, len(text)):
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
            if depth == 0:
                return at
    return -1


def count_parameters(inside):
    if not inside.strip() or inside.strip() == "void":
        return 0
    depth, count = 0, 1
    for before, char in zip(" " + inside, inside):
        depth += (char in "([{<") - (char in ")]}" or (char == ">" and before != "-"))
        count += char == "," and depth == 0
    return count


def is_parameter_list(inside):
    """A first parameter has a type and a name ("int x", "Type&"): tells a definition from a call in a condition or initializer."""
    first = inside.split(",")[0].strip()
    return re.match(r"^(?:const\s+)?[\w:]+(?:<.*)?[\s&*]+\w*", first, re.DOTALL) is not None


def long_lists(text):
    """(line, name, number of parameters) of each definition or pure virtual declaration with too many."""
    found = []
    for match in HEAD.finditer(text):
        if match.group("name") in KEYWORDS:
            continue
        begin = match.end() - 1
        end = closing(text, begin)
        if end < 0 or not TAIL.match(text, end + 1):
            continue
        inside = text[begin + 1:end]
        count = count_parameters(inside)
        if count > MAX_PARAMETERS and is_parameter_list(inside):
            found.append((text.count("\n", 0, begin) + 1, match.group("name") or "a lambda", count))
    return found


def check(root):
    findings = []
    for path in sources.files_below(root, "src", "include", "tools", "tests"):
        if not sizes.is_code(path):
            continue
        lines = sizes.without_text(sources.read_lines(root, path))
        text = "\n".join("" if line.lstrip().startswith("#") else line for line in lines)
        findings += [f"{path}:{line}: {name} takes {count} parameters, at most {MAX_PARAMETERS}" for line, name, count in long_lists(text)]
    return findings


SIX = "int a, const std::map<int, int>& b, int c, int d, int e, int f"
FIVE = "int a, const std::map<int, int>& b, int c, int d, int e"
GOOD = {"src/a/a.cpp": f"int f({FIVE}) {{\n  return g(a, b, c, d, e, 1, 2);\n}}\nint h({SIX});\n",
        "src/a/b.cpp": "int f() {\n  if (same(a, b, c, d, e, f)) {\n    return 1;\n  }\n}\n"}
BAD = [("src/a/c.cpp:2", {"src/a/c.cpp": f"namespace a {{\nint f({SIX}) {{\n}}\n}}\n"}),
       ("src/a/d.h:2", {"src/a/d.h": f"struct S {{\n  S({SIX}) : a(a) {{}}\n}};\n"}),
       ("src/a/e.h:2", {"src/a/e.h": f"struct S {{\n  virtual int f({SIX}) const = 0;\n}};\n"}),
       ("src/a/g.cpp:1", {"src/a/g.cpp": f"auto f = [&]({SIX}) {{ return 1; }};\n"})]


def main():
    ok = sources.self_test("parameters", check, GOOD, BAD)
    return ratchet.report("parameters", check(sources.ROOT)) and ok


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
