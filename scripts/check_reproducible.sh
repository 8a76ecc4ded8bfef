#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the committed state twice, in two folders and without ccache, and compares program and libraries byte for byte:
# check_reproducible.sh [windows]. Takes twice the time of a cold build. Prints "ok NAME" or "FAIL NAME: ..." for each file.
# With `windows`, the libraries that are linked are those of build/deps/windows (scripts/build_windows.sh).
set -euo pipefail
preset=release
files=(quarkq libquarkq.so.0.1.0 libquarkq_ort_ops.so)
case ${1:-} in
  '') ;;
  windows) preset=windows files=(quarkq.exe quarkq.dll quarkq_ort_ops.dll) ;;
  *) sed -n '3,5s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CCACHE_DISABLE=1
for folder in first a/second; do
  git clone --quiet "$root" "$work/$folder"
  mkdir -p "$work/$folder/build"
  cp -r "$root/build/deps" "$work/$folder/build/deps"
  (cd "$work/$folder" && cmake --preset "$preset" -DQUARKQ_BUILD_TESTS=OFF >build/configure.log 2>&1 &&
    ninja -C "build/$preset" -j "${QUARKQ_JOBS:-$(nproc)}" quarkq quarkq_shared >build/build.log 2>&1) ||
    { tail -n 20 "$work/$folder"/build/*.log >&2; exit 1; }
done
status=0
for file in "${files[@]}"; do
  if cmp -s "$work/first/build/$preset/$file" "$work/a/second/build/$preset/$file"; then
    echo "ok reproducible.$file"
  else
    echo "FAIL reproducible.$file: differs in $(cmp -l "$work/first/build/$preset/$file" "$work/a/second/build/$preset/$file" | wc -l) bytes"
    status=1
  fi
done
exit $status
