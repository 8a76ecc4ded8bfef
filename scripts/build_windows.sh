#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# quarkq for Windows x64, built on Debian 12 by MinGW-w64 (ADR 0024): build_windows.sh [--tests] [--package]
#   build/windows/ has quarkq.exe, quarkq.dll with its import library libquarkq.dll.a, and quarkq_ort_ops.dll.
#   --tests: also the unit tests, which run_tests.sh windows runs under wine.
#   --package: dist/quarkq-VERSION-py3-none-win_amd64.whl and dist/quarkq-VERSION-windows-AMD64.zip.
# The libraries that are linked are built once, into build/deps/windows.
set -euo pipefail
tests=OFF package=
for argument in "$@"; do
  case $argument in
    --tests) tests=ON ;;
    --package) package=1 ;;
    *) sed -n '3,7s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
  esac
done
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

# shellcheck disable=SC2154
install_packages "${build_packages[@]}" "${windows_packages[@]}"
parts=(headers zlib yaml-cpp protobuf onnx onednn)
[ "$tests" = OFF ] || parts+=(googletest)
CMAKE_BUILD_PARALLEL_LEVEL=$jobs third_party/windows/build.sh build/deps/windows "${parts[@]}"
fetch_onnxruntime
configure windows "$tests"
targets=(quarkq quarkq_shared)
[ "$tests" = OFF ] || targets+=(quarkq_tests)
build windows "${targets[@]}"

# Whoever has the file can run it: it loads only libraries of Windows.
of_windows=" advapi32 bcrypt kernel32 msvcrt ntdll ole32 psapi shell32 user32 ws2_32 "
for file in build/windows/{quarkq.exe,quarkq.dll,quarkq_ort_ops.dll}; do
  for name in $(x86_64-w64-mingw32-objdump -p "$file" | sed -n 's/.*DLL Name: //p'); do
    name=${name,,}
    [[ $of_windows == *" ${name%.dll} "* ]] || die "$file loads $name, allowed are libraries of Windows; link it statically"
  done
  say "$file: $(($(stat -c %s "$file") / 1024)) KB"
done
[ -n "$package" ] || exit 0

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 1700000000)  # the same bytes for the same commit
export SOURCE_DATE_EPOCH
mkdir -p dist
python3 scripts/pack_windows.py build/windows dist
