#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rules that hold for single files: length of files and functions, ASCII, licence line, no printing below src/, no machine paths."""
import re
import sys

import sources

MAX_LINES = {"source": 500, "header": 250, "test": 600}
MAX_FUNCTION_LINES = 60
OWN_CODE = ("src", "include", "tools", "tests")
SCRIPT_SUFFIXES = (".py", ".sh", ".cmake", "CMakeLists.txt", ".yaml", ".yml")
TEXT_SUFFIXES = sources.CODE_SUFFIXES + SCRIPT_SUFFIXES + (".md", ".json", ".txt", ".csv", ".in")
PRINTING = re.compile(r"std::(cout|cerr|clog)\b|(?<![\w:.>])(?:std::)?(?:printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|perror)\s*\(")
PRINTING_ALLOWED = {"src/base/base.cpp"}  # check_failed(): the last words before abort()
# Put together here so that this file does not find itself.
MACHINE_PATH = re.compile(r"(?<![\w.\-/}$)])/(?:" + "|".join(["wo" + "rk", "ro" + "ot", "ho" + "me", "t" + "mp"]) + r")(?=/|\b(?!\s*\())")
PATH_RULE_SKIPS = ("docs/adr/",)
BLOCK_OPENERS = re.compile(r"^\s*(?:inline\s+)?(?:namespace|class|struct|union|enum|extern\s+\"C\")\b")


def kind_of(path):
    if path.startswith("tests/"):
        return "test"
    return "header" if path.endswith((".h", ".def")) else "source"


def is_code(path):
    return path.endswith((".cpp", ".h")) and path.startswith(tuple(folder + "/" for folder in OWN_CODE))


def is_text(path):
    return path.endswith(TEXT_SUFFIXES) or path in ("quickstart.sh", "run_tests.sh", ".ci/run", "LICENSE")


def without_text(lines):
    """The lines without comments, string and character literals, so that braces can be counted."""
    text = "\n".join(lines)
    pattern = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*(?:.|\n)*?\*/')
    return pattern.sub(lambda match: "\n" * match.group(0).count("\n"), text).split("\n")


def check_lengths(root):
    """Files whose length is bounded. Tables (.def, .yaml) are lists, not code."""
    findings = []
    for path in sources.files_below(root, *OWN_CODE):
        if not path.endswith((".cpp", ".h", ".py")):
            continue
        count, limit = len(sources.read_lines(root, path)), MAX_LINES[kind_of(path)]
        if count > limit:
            findings.append(f"{path}:{limit + 1}: {count} lines, at most {limit} for a {kind_of(path)}")
    return findings


def long_blocks(lines):
    """(first line, length) of every function body longer than the limit, by brace counting: the outermost braces that open in
    no namespace, class, struct, union, enum or initializer. Rows of a table inside a function (= {...}, return {...}) do not count."""
    found, stack, statement, rows = [], [], "", 0
    for number, line in enumerate(without_text(lines), 1):
        if line.lstrip().startswith("#"):
            continue
        for char in line:
            if char == "{":
                is_table = re.search(r"(=|\[\]|\breturn)\s*$", statement) is not None
                is_scope = bool(BLOCK_OPENERS.match(statement)) or is_table
                in_function = any(kind in ("function", "table") for kind, _ in stack)
                if in_function:
                    kind = "table" if is_table and stack[-1][0] != "table" else "inner"
                else:
                    kind = "scope" if is_scope or "(" not in statement else "function"
                rows = 0 if kind == "function" else rows
                stack.append((kind, number))
                statement = ""
            elif char == "}":
                if stack:
                    kind, begin = stack.pop()
                    rows += number - begin if kind == "table" else 0
                    length = number - begin + 1 - rows
                    if kind == "function" and length > MAX_FUNCTION_LINES:
                        found.append((begin, length))
                statement = ""
            elif char == ";":
                statement = ""
            else:
                statement += char
        statement += " "
    return found


def check_functions(root):
    findings = []
    for path in sources.files_below(root, *OWN_CODE):
        if is_code(path):
            findings += [f"{path}:{begin}: function of {length} lines, at most {MAX_FUNCTION_LINES}"
                         for begin, length in long_blocks(sources.read_lines(root, path))]
    return findings


def check_ascii(root):
    findings = []
    for path in sources.files_below(root, *OWN_CODE, "cmake", "scripts", "examples", "configs", "third_party"):
        if not path.endswith(sources.CODE_SUFFIXES + SCRIPT_SUFFIXES):
            continue
        for number, line in enumerate(sources.read_lines(root, path), 1):
            if not line.isascii():
                findings.append(f"{path}:{number}: {next(c for c in line if not c.isascii())!a} is not ASCII")
    return findings


def check_licence(root):
    """The SPDX line comes first; after a #! line it comes second."""
    findings = []
    for path in sources.files_below(root):
        if not (path.endswith(sources.CODE_SUFFIXES + SCRIPT_SUFFIXES) or path in ("quickstart.sh", "run_tests.sh", ".ci/run")):
            continue
        if path.startswith(("tests/golden/", "tests/reference/")):
            continue
        head = sources.read_lines(root, path)[:2]
        line = head[1] if len(head) > 1 and head[0].startswith("#!") else head[0] if head else ""
        if "SPDX-License-Identifier: MIT" not in line:
            findings.append(f"{path}:1: the line 'SPDX-License-Identifier: MIT' is missing at the top")
    return findings


def check_printing(root):
    findings = []
    for path in sources.files_below(root, "src"):
        if not path.endswith(sources.CODE_SUFFIXES) or path in PRINTING_ALLOWED:
            continue
        for number, line in enumerate(without_text(sources.read_lines(root, path)), 1):
            match = PRINTING.search(line)
            if match:
                findings.append(f"{path}:{number}: {match.group(0).strip('( ')} prints; only tools/ may (return a Status or a Diagnostic)")
    return findings


def check_paths(root):
    findings = []
    for path in sources.files_below(root):
        if not is_text(path) or path.startswith(PATH_RULE_SKIPS):
            continue
        for number, line in enumerate(sources.read_lines(root, path), 1):
            match = MACHINE_PATH.search(line)
            if match and "#!" not in line[:2]:
                findings.append(f"{path}:{number}: names the machine path {match.group(0)}")
    return findings


SPDX = "// SPDX-License-Identifier: MIT\n"
LONG = SPDX + "namespace a {\nint f(int x) {\n" + "  x += 1;\n" * MAX_FUNCTION_LINES + "  return x;\n}\n}\n"
RULES = {
    "lengths": (check_lengths, {"src/a/a.cpp": SPDX + "int a;\n" * 499},
                [("src/a/b.cpp:501", {"src/a/b.cpp": SPDX + "int a;\n" * 500}), ("src/a/b.h:251", {"src/a/b.h": SPDX + "int a;\n" * 250}),
                 ("tests/b.cpp:601", {"tests/b.cpp": SPDX + "int a;\n" * 600})]),
    "functions": (check_functions, {"src/a/a.cpp": SPDX + 'namespace a {\nconst char* kTable[] = {\n' + '"{",\n' * 90 + "};\n}\n",
                                    "src/a/b.h": SPDX + "T f() {\n  return {\n" + "    {1},\n" * 90 + "  };\n}\n"},
                  [("src/a/b.cpp:3", {"src/a/b.cpp": LONG}), ("src/a/c.cpp:4", {"src/a/c.cpp": LONG.replace("int f", "struct S {\nint f") + "};\n"})]),
    "ascii": (check_ascii, {"src/a/a.cpp": SPDX}, [("src/a/b.cpp:2", {"src/a/b.cpp": SPDX + "// caf\u00e9\n"})]),
    "licence": (check_licence, {"src/a/a.cpp": SPDX, "scripts/a.sh": "#!/usr/bin/env bash\n# SPDX-License-Identifier: MIT\n"},
                [("src/a/b.cpp:1", {"src/a/b.cpp": "int a;\n"}), ("scripts/b.py:1", {"scripts/b.py": ""})]),
    "printing": (check_printing, {"src/a/a.cpp": SPDX + "// printf(\nint n = std::snprintf(b, 1, \"puts(\");\n"},
                 [("src/a/b.cpp:2", {"src/a/b.cpp": SPDX + "void f() { std::printf(\"a\"); }\n"}),
                  ("src/a/c.cpp:2", {"src/a/c.cpp": SPDX + "void f() { std::cerr << 1; }\n"})]),
    "machine_paths": (check_paths, {"scripts/a.sh": "cat ../shared/x build/" + "tmp/a \"$a/ho" + "me/b\"\n"},
                      [("scripts/b.sh:1", {"scripts/b.sh": "cat /ro" + "ot/x\n"}), ("README.md:1", {"README.md": "see /wo" + "rk/main\n"})]),
}


def main():
    ok = True
    for name, (rule, good, bad) in RULES.items():
        ok &= sources.self_test(name, rule, good, bad)
        ok &= sources.report(name, rule(sources.ROOT))
    return ok


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
