#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Comments and documents name only what exists: files of the project, options of its programs and scripts, functions, identifiers.

Read are the comments of C++, CMake and shell files, and the documents except the histories (CHANGELOG.md, docs/adr/)."""
import os
import re
import sys

import ratchet
import sources

CODE = ("src", "include", "tools", "tests", "scripts", "cmake", "third_party", "python", "recipes", "pyproject.toml", "quickstart.sh", "run_tests.sh", "CMakeLists.txt", "CMakePresets.json")
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "docs")
HISTORIES = ("docs/adr/", "CHANGELOG.md")
OTHERS_DOCUMENTS = ("docs/from-amd-quark.md", "docs/convert.md")  # name functions and options of the reference
C_SUFFIXES = sources.CODE_SUFFIXES
HASH_SUFFIXES = (".cmake", "CMakeLists.txt", ".sh", ".def.in")
COMMENT = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'|(//[^\n]*|/\*(?:.|\n)*?\*/)')
FILE = re.compile(r"(?<![\w<>*{}$/.-])(?:\.\./|\./)*\w[\w./-]*\.(?:cpp|h|def|py|md)(?![\w*/(])")
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
CALL = re.compile(r"(?<![\w.>])((?:\w+::)*[a-z]\w*)\(\)")
QUOTED = re.compile(r"`((?:\w+::)*[a-z][a-z0-9]*(?:_[a-z0-9]+)+_?)`")
# What belongs to others: headers, files and flags of compilers, tools and the reference.
OTHERS_FILES = re.compile(r"(onnxruntime_c_api|onnxruntime_cxx_api|stb_image\w*|xxhash|zlib|omp|cpuid|immintrin|fcntl|unistd|stdlib|setup|old_script|quantize|session|my_\w+)\.(h|py)$"
                          r"|\.pb\.h$|^(core|algorithm|onnx|quark|torch)/|^yaml-cpp/|^gtest/")
OTHERS_FLAGS = {"--preset", "--build", "--gtest-filter", "--prefix", "--no-install-recommends", "--quiet", "--version", "--help", "--install", "--target",
                "--array", "--cpus-per-task"}  # the last two: Slurm
OTHERS_NAMES = {"abort", "fork", "mmap", "munmap", "rename", "free", "malloc", "main", "exit", "open", "write", "read", "close", "memcpy", "size", "data", "begin",
                "end", "name", "find_package", "malloc_trim", "snake_case"}


def comments_of(path, lines):
    """(line number, text) of the comment text of a file."""
    text = "\n".join(lines)
    if path.endswith(".md"):
        return list(enumerate(lines, 1))
    if path.endswith(C_SUFFIXES):
        pieces = [(text.count("\n", 0, match.start()) + 1, match.group(2)) for match in COMMENT.finditer(text) if match.group(2)]
        return [(first + offset, line) for first, piece in pieces for offset, line in enumerate(piece.split("\n"))]
    return [(number, line[line.index("#"):]) for number, line in enumerate(lines, 1) if line.lstrip().startswith("#") and not line.startswith("#!")]


def without_comments(path, lines):
    text = "\n".join(lines)
    if path.endswith(C_SUFFIXES):
        return COMMENT.sub(lambda match: "" if match.group(2) else match.group(0), text)
    if path.endswith(".md"):
        return ""
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))


class Names:
    """Everything that a comment may name."""

    def __init__(self, root):
        self.paths = set(sources.files_below(root))
        self.tails = {"/".join(parts[i:]) for parts in (path.split("/") for path in self.paths) for i in range(len(parts))}
        code = "\n".join(without_comments(path, sources.read_lines(root, path)) for path in sources.files_below(root, *CODE, ".ci", "configs")
                         + [path for path in CODE if os.path.isfile(os.path.join(root, path))]
                         if path.endswith((*C_SUFFIXES, *HASH_SUFFIXES, ".py", ".yaml", ".json", ".in", ".txt")) or "." not in os.path.basename(path))
        self.words = set(re.findall(r"\w+", code))
        self.flags = set(re.findall(r"--[a-z][a-z0-9-]+", code))

    def has_file(self, token):
        token = re.sub(r"^(\.\./|\./)+", "", token)
        return token in self.tails or OTHERS_FILES.search(token) or token.startswith("shared/")


def findings_of_line(line, names):
    for token in FILE.findall(line):
        if not names.has_file(token):
            yield f"names the file {token}"
    for token in FLAG.findall(line):
        if token not in names.flags and token not in OTHERS_FLAGS:
            yield f"names the option {token}"
    for token in CALL.findall(line) + QUOTED.findall(line):
        word = token.split("::")[-1]
        if word not in names.words and word not in OTHERS_NAMES:
            yield f"names {token}"


def check(root):
    names, findings = Names(root), []
    for path in sources.files_below(root, *CODE, *DOCUMENTS) + [path for path in (*CODE, *DOCUMENTS) if os.path.isfile(os.path.join(root, path))]:
        if not path.endswith((*C_SUFFIXES, *HASH_SUFFIXES, ".md")) or path.startswith(HISTORIES + OTHERS_DOCUMENTS):
            continue
        for number, line in comments_of(path, sources.read_lines(root, path)):
            findings += [f"{path}:{number}: {found}, which does not exist" for found in findings_of_line(line, names)]
    return findings


GOOD = {"src/a/a.cpp": '// See a/b.h, f() and --flag; "names.h" is ours, <verb>.cpp and *.isa.cpp are patterns.\nint f();\nconst char* k = "--flag"; // `one_two`\n',
        "src/a/b.h": "int one_two;\n", "src/a/names.h": "", "docs/a.md": "`src/a/a.cpp` has f().\n", "docs/adr/1.md": "gone.cpp\n"}
BAD = [("src/a/c.cpp:2", {"src/a/c.cpp": "int a;\n// done in gone.cpp\n"}), ("src/a/c.cpp:1", {"src/a/c.cpp": "int a;  // see --gone\n"}),
       ("src/a/c.cpp:2", {"src/a/c.cpp": "/* first\n gone() */\n"}), ("src/a/c.cpp:1", {"src/a/c.cpp": "/// `gone_name` is not here\n"}),
       ("src/a/c.cpp:1", {"src/a/c.cpp": "// kernels/a.cpp\n"}), ("docs/b.md:1", {"docs/b.md": "See `gone.h`.\n"})]


def main():
    ok = sources.self_test("comments", check, GOOD, BAD)
    return ratchet.report("comments", check(sources.ROOT)) and ok


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
