#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The wheels of this commit: build_wheel.sh [--sdist]
#   dist/quarkq-VERSION-py3-none-manylinux_*.whl for every Python from 3.9 on; --sdist: the source archive, too.
#   dist/quarkq_as_quark-VERSION-py3-none-any.whl: the module names of amd-quark (docs/from-amd-quark.md).
# The libraries and the program are those of build/release, so nothing is compiled that quickstart.sh has compiled already. Their
# shared libraries are copied into the wheel by auditwheel; its tag names the C library of this machine.
set -euo pipefail
sdist=
for argument in "$@"; do
  case $argument in
    --sdist) sdist=1 ;;
    *) sed -n '3,8s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
  esac
done
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
most_bytes=$((40 * 1024 * 1024))

# shellcheck disable=SC2154
install_packages "${build_packages[@]}" python3-venv
build_onnx
fetch_onnxruntime
configure release OFF
build release quarkq quarkq_shared

tools=build/wheel-tools
if ! cmp -s scripts/wheel_tools.txt $tools/tools.done; then
  say "making $tools"
  rm -rf $tools
  python3 -m venv $tools
  $tools/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r scripts/wheel_tools.txt
  cp scripts/wheel_tools.txt $tools/tools.done
fi

# pack NAME COMMAND...: quiet unless it fails.
pack() {
  local log=build/wheel/$1.log
  shift
  "$@" >"$log" 2>&1 || { tail -n 30 "$log" >&2; die "packing failed; the whole log is $log"; }
}

say "packing the wheel"
rm -rf build/wheel
mkdir -p build/wheel dist
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 1700000000)  # the same bytes for the same commit
export SOURCE_DATE_EPOCH
pack wheel $tools/bin/python -m build --wheel --no-isolation --outdir build/wheel/raw -Cbuild-dir=build/release .
rm -f dist/quarkq-*linux*.whl
pack repair env PATH="$PWD/$tools/bin:$PATH" $tools/bin/auditwheel repair --strip --wheel-dir dist build/wheel/raw/quarkq-*.whl
rm -f dist/quarkq_as_quark-*.whl
$tools/bin/python -B scripts/pack_as_quark.py dist
if [ -n "$sdist" ]; then
  rm -f dist/quarkq-*.tar.gz
  pack sdist $tools/bin/python -m build --sdist --no-isolation --outdir dist .
fi
for file in dist/quarkq-*linux*.whl; do
  bytes=$(stat -c %s "$file")
  [ "$bytes" -le "$most_bytes" ] || die "$file has $bytes bytes, allowed are $most_bytes"
  say "$file: $((bytes / 1024)) KB"
done
