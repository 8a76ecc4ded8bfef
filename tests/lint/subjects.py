#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A file is a subject. A header that a single file of its own folder includes belongs into that file, unless it declares loops of a
*.isa.cpp file or a test includes it. Few files may have fewer than 50 lines."""
import collections
import sys

import layers
import ratchet
import sources

OWN = ("src", "include", "tools")
SMALL, MOST_SMALL = 50, 160


def header_clients(root):
    """{header: the files that include it, its own .cpp and .isa.cpp left out}."""
    files = [path for path in sources.files_below(root, *OWN, "tests") if path.endswith(sources.CODE_SUFFIXES)]
    known, clients = set(files), collections.defaultdict(set)
    for path in files:
        folder = path.rpartition("/")[0]
        for line in sources.read_lines(root, path):
            match = layers.INCLUDE.match(line)
            if not match or match.group(1) != '"':
                continue
            for place in ("src/", "include/", folder + "/"):
                header = place + match.group(2)
                if header in known and path.split(".")[0] != header[:-2]:
                    clients[header].add(path)
    return clients


def check(root):
    clients, findings = header_clients(root), []
    for path in sources.files_below(root, *OWN):
        users = clients[path]
        has_loops = (path[:-2] + ".isa.cpp") in sources.files_below(root, path.rpartition("/")[0])
        if not path.endswith(".h") or has_loops or len(users) != 1:
            continue
        user = next(iter(users))
        if user.rpartition("/")[0] == path.rpartition("/")[0]:
            findings.append(f"{path}:1: its only client is {user}: declare this there")
    return findings


def small_files(root, most=MOST_SMALL):
    found = [path for path in sources.files_below(root, *OWN)
             if path.endswith(sources.CODE_SUFFIXES) and len(sources.read_lines(root, path)) < SMALL]
    return [f"src/:1: {len(found)} files have fewer than {SMALL} lines, at most {most} may: merge what is one subject"] if len(found) > most else []


GOOD = {"src/a/a.h": "\n" * 60, "src/a/a.cpp": '#include "a/a.h"\n' + "\n" * 60, "src/a/b.cpp": '#include "a/a.h"\n' + "\n" * 60,
        "src/b/b.cpp": '#include "a/a.h"\n' + "\n" * 60, "src/a/l.h": "\n" * 60, "src/a/l.isa.cpp": '#include "a/l.h"\n' + "\n" * 60,
        "src/a/u.cpp": '#include "a/l.h"\n' + "\n" * 60}
BAD = [("src/a/c.h:1", {"src/a/c.h": "\n" * 60, "src/a/c.cpp": '#include "a/c.h"\n', "src/a/d.cpp": '#include "a/c.h"\n'})]
BAD_SMALL = [("src/:1", {"src/a/c.cpp": "\n" * 49})]


def main():
    ok = sources.self_test("subjects", check, GOOD, BAD)
    ok &= sources.self_test("small_files", lambda root: small_files(root, most=0), GOOD, BAD_SMALL)
    ok &= ratchet.report("subjects", check(sources.ROOT))
    return sources.report("small_files", small_files(sources.ROOT)) and ok


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
