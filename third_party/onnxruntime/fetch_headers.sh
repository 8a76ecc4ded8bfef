#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Fetches ONNX Runtime's C API header, which libquarkq_ort_ops.so is built with: fetch_headers.sh PREFIX
# Puts PREFIX/include/onnxruntime_c_api.h there, where cmake/OnnxRuntime.cmake looks. Does nothing when it is there already.
# Without it everything else builds as before.
set -euo pipefail
package=amd-quark version=0.13
package_sha256=3b3e58a4cbbcff20d27815b641aa4de4d698efde3c782306cb4a6a05bcf55c8c
member=quark/onnx/operators/custom_ops/include/onnxruntime-1.17.0/onnxruntime/core/session/onnxruntime_c_api.h
header_sha256=50dffd48d32043ebc05558bef52551879a3ee919796734458dc60ae83e517c95
prefix=$(mkdir -p "${1:?usage: fetch_headers.sh PREFIX}" && cd "$1" && pwd)
header=$prefix/include/onnxruntime_c_api.h

is_right() { echo "$1  $2" | sha256sum --check --status 2>/dev/null; }
is_right "$header_sha256" "$header" && exit 0
work=$(mktemp -d "$prefix/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "fetching ONNX Runtime's C API header (in $package $version, 2.7 MB)"
wheel=$work/amd_quark-$version-py3-none-any.whl
python3 "$(dirname "${BASH_SOURCE[0]}")/../fetch_archive.py" "$package" "${wheel##*/}" "$package_sha256" "$wheel"
python3 -c 'import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))' "$wheel" "$member" >"$work/header"
is_right "$header_sha256" "$work/header" || { echo "fetch_headers.sh: the header is not the known one" >&2; exit 1; }
mkdir -p "$prefix/include"
mv "$work/header" "$header"
