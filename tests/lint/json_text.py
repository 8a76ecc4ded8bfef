#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""JSON under src/ is read by base/parse_text.h, which bounds its levels: a deep tree exhausts the stack when it is copied or destroyed."""
import re
import sys

import ratchet
import sources

PARSE = re.compile(r"\b(?:Json|json)::parse\(")
PARSE_OF = "src/base/parse_text.h"


def check(root):
    findings = []
    for path in sources.files_below(root, "src"):
        if path.endswith(sources.CODE_SUFFIXES) and path != PARSE_OF:
            findings += [f"{path}:{number}: reads JSON of any depth; use parse_json() of base/parse_text.h"
                         for number, line in enumerate(sources.read_lines(root, path), 1) if PARSE.search(line.partition("//")[0])]
    return findings


GOOD = {PARSE_OF: "  return Json::parse(text);\n", "src/a/a.cpp": "// Json::parse(\nparse_json<Json>(text);\nRequest::parse(text);\n"}
BAD = [("src/a/c.cpp:2", {"src/a/c.cpp": "int a;\nconst auto b = Json::parse(text);\n"}),
       ("src/a/c.h:1", {"src/a/c.h": "return nlohmann::json::parse(text);\n"})]


def main():
    ok = sources.self_test("json_text", check, GOOD, BAD)
    return ratchet.report("json_text", check(sources.ROOT)) and ok


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
