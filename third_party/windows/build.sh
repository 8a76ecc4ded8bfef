#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the libraries that quarkq links on Windows x64, static, by Debian's MinGW-w64: build.sh PREFIX [PART]...
# Sources are those of Debian's archive and of PyPI, checked by their SHA-256 before anything of them is unpacked or run. Packages of headers are
# copied from the system. Each part is built once: PREFIX/NAME.done.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
prefix=$(mkdir -p "${1:?usage: build.sh PREFIX [PART]...}" && cd "$1" && pwd)
toolchain=$root/cmake/toolchains/windows-x64.cmake
work=$prefix/work
mkdir -p "$work"

# What the sources of src/exec use; a primitive that is left out fails when it is created.
onednn_primitives="CONVOLUTION;DECONVOLUTION;REORDER"

# Debian's source PACKAGE, its SUITE, and FILE with its SHA256
sources="
zlib      bookworm  zlib_1.2.13.dfsg.orig.tar.bz2      71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1
protobuf  bookworm  protobuf_3.21.12.orig.tar.gz       930c2c3b5ecc6c9c12615cf5ad93f1cd6e12d0aba862b572e076259970ac3a53
yaml-cpp  bookworm  yaml-cpp_0.7.0+dfsg.orig.tar.xz    dc63708605404e0b963e0ca3a9619d1c8270eda2839603e6fa0384e5e51e5312
onednn    trixie    onednn_3.7.2+ds.orig.tar.xz        0cc51ca26c1af6a2bb1e71e378e7046f3ceb3e71791ee9d4e246d50f904a6ea6
"
# Folders and files of /usr/include.
headers=(nlohmann CLI spdlog fmt eigen3 stb xxhash.h)

# source_apt ARGUMENT...: apt-get with lists of sources of its own, from the mirror of Debian that this machine uses.
source_apt() {
  local lists=$work/apt
  apt-get -o Dir::Etc::SourceList="$lists/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$lists/lists" \
    -o Dir::Cache="$lists/cache" -o APT::Sandbox::User="" "$@"
}
list_sources() {
  local mirror suite
  [ ! -f "$work/apt/ready" ] || return 0
  # shellcheck disable=SC2016
  mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE)' | awk '$2 == "bookworm" || $2 == "trixie" { print $1; exit }')
  [ -n "$mirror" ] || { echo "build.sh: apt knows no mirror of Debian 12 or 13 (apt-get update)" >&2; exit 1; }
  mkdir -p "$work"/apt/{lists,cache,archives}/partial
  for suite in bookworm trixie; do
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
  done >"$work/apt/sources.list"
  source_apt update -q >"$work/apt/log" 2>&1 || { tail -n 5 "$work/apt/log" >&2; exit 1; }
  touch "$work/apt/ready"
}

# fetch NAME: unpacks the source of NAME into $work/NAME.
fetch() {
  local name suite file sha256
  read -r name suite file sha256 < <(grep "^$1 " <<<"$sources")
  list_sources
  (cd "$work/apt/archives" && source_apt source -q --download-only "$name/$suite" >"$prefix/$name-source.log" 2>&1 &&
    sha256sum --quiet -c <<<"$sha256  $file") ||
    { tail -n 5 "$prefix/$name-source.log" >&2; echo "build.sh: $file of Debian's $suite cannot be had, or has another SHA-256 than $sha256" >&2; exit 1; }
  rm -rf "${work:?}/$name" && mkdir "$work/$name"
  tar -xf "$work/apt/archives/$file" -C "$work/$name" --strip-components=1
}

# build NAME SOURCE SWITCH...: configures, builds and installs a CMake project.
build() {
  local name=$1 source=$2 launcher=() log=$prefix/$1.log
  shift 2
  echo "building $name for Windows"
  command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  # Messages name files as of $work, so that one commit gives the same bytes wherever it is built.
  cmake -G Ninja -S "$source" -B "$work/$name-build" -DCMAKE_TOOLCHAIN_FILE="$toolchain" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_FIND_ROOT_PATH="$prefix" \
    -DBUILD_SHARED_LIBS=OFF "${launcher[@]}" "$@" >"$log" 2>&1 &&
    cmake --build "$work/$name-build" --target install >>"$log" 2>&1 || {
      grep -m1 -A20 -E '^FAILED|error' "$log" >&2 || tail -n 30 "$log" >&2
      echo "build.sh: building $name for Windows failed; the whole log is $log" >&2
      exit 1
    }
  rm -rf "$work/$name-build"
}

flags() { echo "$1 -DNDEBUG -ffile-prefix-map=$work/="; }

build_zlib() {
  fetch zlib
  build zlib "$here/zlib" -DZLIB_SOURCE="$work/zlib" -DCMAKE_C_FLAGS_RELEASE="$(flags -O2)"
}

build_protobuf() {
  fetch protobuf
  build protobuf "$work/protobuf" -Dprotobuf_BUILD_TESTS=OFF -Dprotobuf_BUILD_PROTOC_BINARIES=OFF -Dprotobuf_WITH_ZLIB=OFF \
    -DCMAKE_CXX_STANDARD=17 -DCMAKE_CXX_FLAGS_RELEASE="$(flags -O2)"
}

build_yaml_cpp() {
  fetch yaml-cpp
  build yaml-cpp "$work/yaml-cpp" -DYAML_CPP_BUILD_TESTS=OFF -DYAML_CPP_BUILD_TOOLS=OFF -DYAML_CPP_BUILD_CONTRIB=OFF \
    -DCMAKE_CXX_FLAGS_RELEASE="$(flags -O2)"
}

build_onednn() {
  fetch onednn
  "$here/trim_onednn.sh" "$work/onednn"
  build onednn "$work/onednn" -DDNNL_LIBRARY_TYPE=STATIC -DDNNL_CPU_RUNTIME=OMP -DDNNL_GPU_RUNTIME=NONE -DDNNL_BUILD_TESTS=OFF \
    -DDNNL_BUILD_EXAMPLES=OFF -DDNNL_BUILD_DOC=OFF -DDNNL_ENABLE_WORKLOAD=TRAINING -DONEDNN_BUILD_GRAPH=OFF -DDNNL_ENABLE_PRIMITIVE_CPU_ISA=AVX512 -DONEDNN_ENABLE_GEMM_KERNELS_ISA=NONE -DDNNL_ENABLE_JIT_PROFILING=OFF \
    -DDNNL_ENABLE_ITT_TASKS=OFF "-DDNNL_ENABLE_PRIMITIVE=$onednn_primitives" -DCMAKE_CXX_FLAGS_RELEASE="$(flags -O2)" \
    -DCMAKE_C_FLAGS_RELEASE="$(flags -O2)"
}

# By the build files of third_party/onnx, with the protocol compiler of this machine.
build_onnx() {
  local archive=$prefix/onnx-1.23.2.tar.gz
  python3 "$root/third_party/fetch_archive.py" onnx "${archive##*/}" \
    008cb0467b2bbee41448acc7da8b6f4e704624cb0d327a2d5adafc7ce19bc5b8 "$archive"
  rm -rf "$work/onnx" && mkdir "$work/onnx"
  tar -xzf "$archive" -C "$work/onnx" --strip-components=1
  build onnx "$root/third_party/onnx" -DONNX_SOURCE="$work/onnx" -DProtobuf_PROTOC_EXECUTABLE="$(command -v protoc)" \
    -DCMAKE_CXX_FLAGS_RELEASE="$(flags -O1) -I$here/include '-D_strtof_l(text,end,locale)=strtof(text,end)'"
}

# Only for the tests: Debian's package has the sources.
build_googletest() { build googletest /usr/src/googletest -DCMAKE_CXX_STANDARD=17 -DCMAKE_CXX_FLAGS_RELEASE="$(flags -O1)"; }

# Packages of headers: the same for every system.
build_headers() {
  local name
  mkdir -p "$prefix/include" "$prefix/lib/cmake"
  for name in "${headers[@]}"; do cp -rL "/usr/include/$name" "$prefix/include/"; done
  for name in cmake/nlohmann_json cmake/CLI11 eigen3; do
    mkdir -p "$prefix/share/$name" && cp -rL "/usr/share/$name/." "$prefix/share/$name/"
  done
}

once() {
  local stamp=$prefix/$1.done
  [ -f "$stamp" ] && return
  "build_${1//-/_}"
  touch "$stamp"
}
if [ $# -gt 1 ]; then parts=("${@:2}"); else parts=(headers zlib yaml-cpp protobuf onnx onednn); fi
for name in "${parts[@]}"; do once "$name"; done
