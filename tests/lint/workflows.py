#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Actions of workflows are pinned by the hash of a commit, which nobody can move, with the release as a comment: `uses: owner/name@HASH # v4.2.2`."""
import re
import sys

import ratchet
import sources

PLACES = (".github", "docs/ci", "packaging")
USES = re.compile(r"^\s*(?:-\s*)?(?:\"uses\"|uses)\s*:\s*(.*)$")
PINNED = re.compile(r"^[\w.-]+/[\w./-]+@[0-9a-f]{40} +# v\d+\.\d+\.\d+$")
OWN = re.compile(r"^\./[\w./-]+$")  # a file of this repository


def check(root):
    findings, hashes = [], {}
    files = sources.files_below(root, *PLACES) + [path for path in sources.files_below(root) if path in ("action.yml", "action.yaml")]
    for path in files:
        if not path.endswith((".yml", ".yaml")):
            continue
        for number, line in enumerate(sources.read_lines(root, path), 1):
            found = USES.match(line)
            if not found or OWN.match(found.group(1)):
                continue
            if not PINNED.match(found.group(1)):
                findings.append(f"{path}:{number}: {found.group(1)} is not pinned as owner/name@<40 hexadecimal digits> # v1.2.3")
                continue
            action, _, rest = found.group(1).partition("@")
            if hashes.setdefault((action, rest.split("# ")[1]), rest[:40]) != rest[:40]:
                findings.append(f"{path}:{number}: {action} has another hash elsewhere for the same release")
    return findings


HASH = "0123456789" * 4
GOOD = {".github/workflows/a.yml": f"steps:\n  - uses: a/b@{HASH} # v1.2.3\n  - name: x\n    uses: ./.github/own\n", "docs/ci/a.md": "uses: a/b@v1\n",
        "action.yml": "# uses: a/b@v1\nruns:\n"}
BAD = [(".github/workflows/b.yml:1", {".github/workflows/b.yml": "  - uses: a/b@v4\n"}), ("docs/ci/b.yml:1", {"docs/ci/b.yml": f"  uses: a/b@{HASH}\n"}),
       ("action.yml:1", {"action.yml": f"    - uses: a/b@{HASH[:39]} # v1.2.3\n"}),
       ("docs/ci/b.yml:1", {"docs/ci/b.yml": f"  uses: a/b@{HASH[::-1]} # v1.2.3\n"})]


def main():
    ok = sources.self_test("workflows", check, GOOD, BAD)
    return ratchet.report("workflows", check(sources.ROOT)) and ok


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
