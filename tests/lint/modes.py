#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Only src/config reads whether a run is in compat mode. Everything else asks for the difference by its row of quirks.def."""
import re
import sys

import ratchet
import sources

READ = re.compile(r"\bsettings_?(?:\(\))?(?:\.|->)compat\b")


def check(root):
    return [f"{path}:{number}: reads settings.compat; add a row to src/config/quirks.def and ask for it with quirk()"
            for path in sources.files_below(root, "src", "tools") if path.endswith(sources.CODE_SUFFIXES) and not path.startswith("src/config/")
            for number, line in enumerate(sources.read_lines(root, path), 1) if READ.search(line)]


GOOD = {"src/config/a.h": "return !settings.compat;\n", "src/a.cpp": "if (request.compat) return;\n"}
BAD = [("src/a.cpp:1", {"src/a.cpp": "if (context.settings.compat) return;\n"}), ("tools/b.cpp:1", {"tools/b.cpp": "return settings_->compat;\n"})]


def main():
    ok = sources.self_test("modes", check, GOOD, BAD)
    return ratchet.report("modes", check(sources.ROOT)) and ok


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
