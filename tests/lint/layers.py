#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each folder of src/ includes only what it may: layers named (directly or through others) by USES in its CMakeLists.txt, and the
outside packages that this file lists for it. The list is the table "Layers" of docs/architecture.md."""
import os
import re
import sys

import sources

# Headers of outside packages: pattern -> files (relative to the project) that may name them.
PACKAGES = {
    r"spdlog/": r"tools/quarkq/log_file\.(cpp|h)$",
    r"yaml-cpp/": r"src/config/",
    r"(onnx/|google/protobuf/)": r"(src/onnx_io|tests/fuzz)/",
    r"(oneapi/dnnl/|dnnl)": r"src/exec/backend_onednn[^/]*$",
    r"onnxruntime_": r"(src/(ort_ops|ort_runtime)|tests/e2e)/",
    r"(Eigen/|unsupported/Eigen/)": r"src/pass/",
    r"stb_": r"src/calib/",
    r"nlohmann/": r"(src/(calib|metrics|pipeline|tuning|c_api)|tests)/",
    r"zlib\.h": r"src/calib/",
    r"xxhash\.h": r"src/base/",
    r"CLI/": r"tools/quarkq/",
    r"(gtest|gmock)/": r"tests/",
    r"omp\.h": r"(src/(base|exec|ort_ops|calib|compare|planning|pipeline)|tests)/",
    r"std(def|int)\.h": r"include/quarkq/c_api\.h$",
    r"(sys/|linux/|(unistd|fcntl|malloc|stdlib|dirent|dlfcn|glob|poll|signal|termios|pthread)\.h$)": r"(src/base/platform/(posix|windows|program)|tests)/",
    r"(windows|winioctl|psapi|shellapi|ntsecapi|io)\.h$": r"src/base/platform/windows/",
    r"(immintrin|x86intrin|xmmintrin|emmintrin|smmintrin|cpuid)\.h": r"src/",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
USES = re.compile(r"quarkq_add_layer\(\s*(\w+)(?:\s+USES\s+([\w\s]*?))?\s*(?:PACKAGES[^)]*)?\)")


def read_uses(root):
    """{layer: layers it may see}, the transitive closure of USES."""
    uses = {}
    for path in sources.files_below(root, "src"):
        if os.path.basename(path) != "CMakeLists.txt":
            continue
        match = USES.search("\n".join(sources.read_lines(root, path)))
        if match:
            uses[match.group(1)] = set((match.group(2) or "").split())
    closed = {}

    def close(layer):
        if layer not in closed:
            closed[layer] = set()
            for used in uses.get(layer, ()):
                closed[layer] |= {used} | close(used)
        return closed[layer]

    for layer in uses:
        close(layer)
    return closed


def package_finding(place, path, header):
    for pattern, allowed in PACKAGES.items():
        if re.match(pattern, header):
            if re.match(allowed, path):
                return None
            return f"{place}: <{header}> may appear only in {allowed}"
    if "." not in header:
        return None  # the standard library
    return f"{place}: <{header}> belongs to no package known to tests/lint/layers.py"


def own_finding(place, path, header, root, uses):
    own = path.split("/")[1]
    layer = header.split("/")[0]
    if layer in uses:
        if not os.path.exists(os.path.join(root, "src", header)):
            return f'{place}: "{header}" does not exist below src/'
        if path.startswith("src/") and layer != own and layer not in uses[own]:
            return f"{place}: layer {own} includes {layer}, it may use {', '.join(sorted(uses[own])) or 'none'}"
        return None
    if header.startswith("quarkq/"):
        return None if os.path.exists(os.path.join(root, "include", header)) else f'{place}: "{header}" does not exist'
    if path.startswith("src/"):
        return f'{place}: "{header}" is not rooted at src/ (write "{own}/...")'
    return None


def check(root):
    uses = read_uses(root)
    findings = [] if uses else ["src: no layer found"]
    for path in sources.files_below(root, "src", "include", "tools", "tests"):
        if not path.endswith(sources.CODE_SUFFIXES) or path.startswith("tests/install/"):
            continue
        if path.startswith("src/") and path.split("/")[1] not in uses:
            findings.append(f"{path}:1: its folder is no layer")
            continue
        for number, line in enumerate(sources.read_lines(root, path), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            place = f"{path}:{number}"
            if match.group(1) == "<":
                finding = package_finding(place, path, match.group(2))
            else:
                finding = own_finding(place, path, match.group(2), root, uses)
            if finding:
                findings.append(finding)
    return findings


GOOD = {
    "src/base/CMakeLists.txt": "quarkq_add_layer(base PACKAGES xxhash)\n",
    "src/base/log.h": "#include <xxhash.h>\n#include <string>\n",
    "src/base/platform/posix/files.cpp": "#include <sys/stat.h>\n#include <dirent.h>\n",
    "src/base/platform/windows/files.cpp": "#include <windows.h>\n#include <fcntl.h>\n",
    "src/ir/CMakeLists.txt": "quarkq_add_layer(ir USES base)\n",
    "src/ir/graph.h": '#include "base/log.h"\n',
    "src/exec/CMakeLists.txt": "quarkq_add_layer(exec USES ir PACKAGES DNNL::dnnl)\n",
    "src/exec/backend_onednn.cpp": '#include <oneapi/dnnl/dnnl.hpp>\n#include "base/log.h"\n#include "ir/graph.h"\n',
}
BAD = [
    ("src/base/up.h:2", {"src/base/up.h": '#include <string>\n#include "ir/graph.h"\n'}),
    ("src/ir/log.cpp:1", {"src/ir/log.cpp": "#include <spdlog/spdlog.h>\n"}),
    ("src/exec/conv.cpp:1", {"src/exec/conv.cpp": "#include <dnnl.hpp>\n"}),
    ("src/ir/node.cpp:1", {"src/ir/node.cpp": '#include "graph.h"\n'}),
    ("src/ir/new.cpp:1", {"src/ir/new.cpp": "#include <boost/any.hpp>\n"}),
    ("src/base/file.cpp:1", {"src/base/file.cpp": "#include <unistd.h>\n"}),
    ("src/base/platform/posix/a.cpp:1", {"src/base/platform/posix/a.cpp": "#include <windows.h>\n"}),
    ("src/stray/a.cpp:1", {"src/stray/a.cpp": "int a;\n"}),
]


def main():
    ok = sources.self_test("layers", check, GOOD, BAD)
    return sources.report("layers", check(sources.ROOT)) and ok


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
