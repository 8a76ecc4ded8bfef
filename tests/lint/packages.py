#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Everything that the build requires is used: every package that CMake finds and every package and layer that a layer names is included."""
import re
import sys

import layers
import ratchet
import sources

# Package as find_package(), find_path() or PACKAGES name it -> header pattern; None: it brings no header of its own.
HEADERS = {
    "spdlog": r"spdlog/", "quarkq_spdlog_dir": r"spdlog/", "dnnl": r"(oneapi/dnnl/|dnnl)", "eigen3": r"Eigen/", "yaml-cpp": r"yaml-cpp/", "quarkq_yaml": r"yaml-cpp/",
    "nlohmann_json": r"nlohmann/", "cli11": r"CLI/", "protobuf": r"(google/protobuf/|onnx/)", "zlib": r"zlib\.h",
    "quarkq_xxhash_dir": r"xxhash\.h", "quarkq_stb_dir": r"stb_", "quarkq_stb": r"stb_", "quarkq_onnx": r"onnx/", "onnx": r"onnx/",
    "gtest": r"(gtest|gmock)/", "openmp": r"omp\.h", "quarkq_onnxruntime": r"onnxruntime_", "quarkq_ort_include": r"onnxruntime_",
    "threads": None, "git": None, "quarkq": r"quarkq/",
}
FINDERS = re.compile(r"\bfind_(?:package|path)\(\s*([\w-]+)")
LAYER = re.compile(r"quarkq_add_layer\(\s*(\w+)([^)]*)\)")


def headers_by_folder(root):
    """{first two parts of the path: headers included there}."""
    found = {}
    for path in sources.files_below(root, "src", "tools", "tests", "include"):
        if path.endswith(sources.CODE_SUFFIXES):
            headers = found.setdefault("/".join(path.split("/")[:2]), set())
            headers |= {match.group(2) for match in map(layers.INCLUDE.match, sources.read_lines(root, path)) if match}
    return found


def is_used(name, headers):
    """None when `name` is not known."""
    name = name.split("::")[0].lower()
    if name not in HEADERS:
        return None
    return HEADERS[name] is None or any(re.match(HEADERS[name], header) for header in headers)


def finding(place, name, headers):
    used = is_used(name, headers)
    if used is None:
        return [f"{place}: package {name} is not known to tests/lint/packages.py"]
    return [] if used else [f"{place}: package {name} is asked for, and nothing includes its headers"]


def layer_findings(place, layer, words, headers):
    findings, kind = [], None
    for word in words:
        if word in ("USES", "PACKAGES"):
            kind = word
        elif kind == "PACKAGES":
            findings += finding(place, word, headers)
        elif kind == "USES" and not any(header.startswith(word + "/") for header in headers):
            findings.append(f"{place}: layer {layer} says USES {word}, and nothing in it includes that")
    return findings


def check(root):
    by_folder = headers_by_folder(root)
    everything = set().union(*by_folder.values()) if by_folder else set()
    findings = []
    for path in sources.files_below(root, "src", "cmake", "tests", "tools"):
        if not path.endswith(("CMakeLists.txt", ".cmake")) or path.startswith("tests/install/"):
            continue
        lines = [line.partition("#")[0] for line in sources.read_lines(root, path)]
        for number, line in enumerate(lines, 1):
            for name in FINDERS.findall(line):
                findings += finding(f"{path}:{number}", name, everything)
        for layer, rest in LAYER.findall("\n".join(lines)):
            findings += layer_findings(f"{path}:1", layer, rest.split(), by_folder.get("src/" + layer, set()))
    return findings


GOOD = {"cmake/Dependencies.cmake": "find_package(spdlog REQUIRED)\n", "src/base/log.cpp": '#include <spdlog/spdlog.h>\n',
        "src/base/CMakeLists.txt": "quarkq_add_layer(base PACKAGES spdlog::spdlog)\n",
        "src/ir/CMakeLists.txt": "quarkq_add_layer(ir USES base)\n", "src/ir/a.cpp": '#include "base/log.h"\n'}
BAD = [("cmake/More.cmake:1", {"cmake/More.cmake": "find_package(ZLIB)\n"}), ("cmake/More.cmake:1", {"cmake/More.cmake": "find_package(Boost)\n"}),
       ("src/ir/CMakeLists.txt:1", {"src/ir/a.cpp": "\n"}),
       ("src/ir/CMakeLists.txt:1", {"src/ir/CMakeLists.txt": "quarkq_add_layer(ir USES base PACKAGES ZLIB::ZLIB)\n"})]


def main():
    ok = sources.self_test("packages", check, GOOD, BAD)
    return ratchet.report("packages", check(sources.ROOT)) and ok


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
