#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Citations of the reference pages resolve: `ref:page#section` is a heading of docs/reference/page.md, in comments and in quirks.def.

A section is a heading as GitHub and the site write it in a link: lower case, a hyphen for each space."""
import re
import sys

import ratchet
import sources

PAGES = "docs/reference/"
READ = ("src", "include", "tools", "tests", "scripts", "cmake", "docs")
SKIPPED = ("tests/lint/citations.py",)
CITATION = re.compile(r"\bref:([\w-]+)(?:#([\w-]+))?")
QUIRK = re.compile(r'^QUIRK\(\w+, "([\w-]+)#([\w-]+)"')
ELSEWHERE = re.compile(r"\b[Ss]pecs? 0?[1-6]\b|(?://|#|\"\"\").*(?<![\w.])(?:[A-I]\.\d+(?:\.\d+)*[a-z]?(?![\w.])|C-\d{3}\b)")
SUFFIXES = (*sources.CODE_SUFFIXES, ".py", ".sh", ".md", ".cmake", ".txt", ".in")


def anchor(heading):
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-")


def sections_of(root):
    """{page: sections} of docs/reference."""
    found = {}
    for path in sources.files_below(root, PAGES):
        if path.endswith(".md"):
            found[path[len(PAGES):-3]] = {anchor(line.lstrip("#")) for line in sources.read_lines(root, path) if line.startswith("#")}
    return found


def check(root):
    sections, findings = sections_of(root), []
    for path in sources.files_below(root, *READ):
        if not path.endswith(SUFFIXES) or path in SKIPPED or path == PAGES + "index.md":
            continue
        for number, line in enumerate(sources.read_lines(root, path), 1):
            cited = CITATION.findall(line) + (QUIRK.findall(line) if path.endswith(".def") else [])
            findings += [f"{path}:{number}: cites {page}{'#' + section if section else ''}, which {PAGES} does not have" for page, section in cited
                         if page not in sections or (section and section not in sections[page])]
            if ELSEWHERE.search(line):
                findings.append(f"{path}:{number}: cites a document that is not in the repository")
    return findings


GOOD = {PAGES + "a.md": "# A\n## Two words\n", "src/a.cpp": "// ref:a, ref:a#two-words.\n", "src/b.def": 'QUIRK(One, "a#two-words", "")\n'}
BAD = [("src/c.cpp:1", {"src/c.cpp": "// ref:a#gone\n"}), ("src/c.cpp:1", {"src/c.cpp": "// (ref:gone)\n"}),
       ("src/c.def:1", {"src/c.def": 'QUIRK(One, "a#gone", "")\n'}), ("docs/b.md:1", {"docs/b.md": "See spec 02 A.4.\n"}), ("src/c.cpp:1", {"src/c.cpp": "int a;  // as A.10 has it\n"})]


def main():
    ok = sources.self_test("citations", check, GOOD, BAD)
    return ratchet.report("citations", check(sources.ROOT)) and ok


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
