#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the onnx C++ library, static, against the system protobuf: build.sh PREFIX
# The source archive comes from where pip looks and is checked by its SHA-256 before anything of it is unpacked or run. Does nothing when
# PREFIX holds the library already.
set -euo pipefail
version=1.23.2
sha256=008cb0467b2bbee41448acc7da8b6f4e704624cb0d327a2d5adafc7ce19bc5b8
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
prefix=$(mkdir -p "${1:?usage: build.sh PREFIX}" && cd "$1" && pwd)
stamp=$prefix/onnx-$version-hardened.done
[ -f "$stamp" ] && exit 0
work=$prefix/work
archive=$prefix/onnx-$version.tar.gz
mkdir -p "$work"
if ! echo "$sha256  $archive" | sha256sum --check --status 2>/dev/null; then
  echo "fetching onnx $version"
  python3 "$here/../fetch_archive.py" onnx "onnx-$version.tar.gz" "$sha256" "$archive"
fi
tar -xzf "$archive" -C "$work"
echo "building onnx $version (about a minute)"
# -O1: it registers schemas and infers types, no loops over tensors. Its schemas name their files in messages: as of $work, so that
# one commit gives the same bytes wherever it is built.
flags="-O1 -DNDEBUG -ffile-prefix-map=$work/="
# It reads what strangers wrote: as cmake/Hardening.cmake.
flags+=" -fstack-protector-strong -fstack-clash-protection -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2"
if [ "$(uname -m)" = x86_64 ]; then flags+=" -fcf-protection=full"; fi
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cmake -G Ninja -S "$here" -B "$work/build" -DONNX_SOURCE="$work/onnx-$version" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS_RELEASE="$flags" -DCMAKE_INSTALL_PREFIX="$prefix" "${launcher[@]}" >"$prefix/build.log" 2>&1 &&
  cmake --build "$work/build" --target install >>"$prefix/build.log" 2>&1 || {
    tail -n 30 "$prefix/build.log" >&2
    echo "build.sh: building onnx failed; the whole log is $prefix/build.log" >&2
    exit 1
  }
rm -rf "$work/build"
touch "$stamp"
