#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No std::variant whose alternatives are all scalars, pointers and containers of the standard library when copying one of them may fail.
libstdc++ 12 takes such a variant for one that always has a value and leaves the check out: where the copy of a text runs out of memory, the
destructor of the failed variant jumps through a table with the index 255 (signal 11). Use NoValue of base/no_value.h as an alternative."""
import re
import sys

import ratchet
import sources

VARIANT = re.compile(r"\b(?:std::)?variant<")
# What <variant> takes for a type that leaves a variant as it was when it cannot be copied.
SCALAR = re.compile(r"(?:const )?(?:std::)?(?:monostate|bool|char|unsigned char|signed char|short|int|unsigned|long|long long|float|double|size_t|ptrdiff_t|nullptr_t"
                    r"|u?int(?:8|16|32|64)_t|uintptr_t|string_view)$|.*\*$|.*\(\*\)\(.*")
NEVER_THROWS = re.compile(r"(?:std::)?(?:shared_ptr|weak_ptr|unique_ptr)<")
THROWS = re.compile(r"(?:std::)?(?:string$|basic_string<|vector<|function<|any$)")


def alternatives(text, start):
    """The arguments of the template whose '<' is right before `start`; None when it does not end."""
    depth, parts, part = 1, [], ""
    for letter in text[start:]:
        depth += (letter in "<(") - (letter in ">)")
        if depth == 0:
            return [*parts, " ".join(part.split())]
        if letter == "," and depth == 1:
            parts.append(" ".join(part.split()))
            part = ""
        else:
            part += letter
    return None


def is_bad(types):
    known = all(SCALAR.match(one) or NEVER_THROWS.match(one) or THROWS.match(one) for one in types)
    return known and any(THROWS.match(one) for one in types)


def check(root):
    findings = []
    for path in sources.files_below(root, "src", "include", "tools"):
        if not path.endswith(sources.CODE_SUFFIXES):
            continue
        text = "\n".join(line.partition("//")[0] for line in sources.read_lines(root, path))
        for found in VARIANT.finditer(text):
            types = alternatives(text, found.end())
            if types and is_bad(types):
                findings.append(f"{path}:{text.count(chr(10), 0, found.start()) + 1}: std::variant<{', '.join(types)}> may lose its value unnoticed")
    return findings


GOOD = {"src/a/a.h": "std::variant<NoValue, int64_t, std::string, std::vector<float>> a;\nstd::variant<std::monostate, bool, std::shared_ptr<const T>> b;\n"
                     "std::variant<int64_t, std::string, Tensor> c;\n// std::variant<int, std::string>\nstd::variant<Result<A> (*)(B&), Result<A> (*)(C&)> d;\n"}
BAD = [("src/a/b.h:2", {"src/a/b.h": "int x;\nstd::variant<std::monostate, bool, int64_t, double, std::string,\n             std::shared_ptr<int>> a;\n"}),
       ("include/q/c.h:1", {"include/q/c.h": "using V = std::variant<int64_t, std::string>;\n"}),
       ("tools/q/d.cpp:1", {"tools/q/d.cpp": "std::variant<std::monostate, std::vector<int>, std::function<void(int)>> d;\n"})]


def main():
    ok = sources.self_test("variants", check, GOOD, BAD)
    return ratchet.report("variants", check(sources.ROOT)) and ok


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
