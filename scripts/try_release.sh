#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs and tries every file of a release in an environment of its own: try_release.sh DIST
#   Prints "ok NAME", "skip NAME: why" or "FAIL NAME: why" for each, and for files that are missing. The exit code is 1 if one failed.
#   With QUARKQ_TRY_SDIST=1 the source archive is built as well, which takes as long as a build.
# shellcheck disable=SC2317  # the functions are called by name
set -euo pipefail
if [ $# != 1 ] || [ ! -d "$1" ]; then
  sed -n '3,5s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
dist=$(cd "$1" && pwd)
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
version=$(sed -n 's/^project(quarkq VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# try NAME PATTERN FUNCTION [REQUIRED]: runs FUNCTION FILE in an empty folder if PATTERN names one file.
try() {
  local name=$1 pattern=$2 function=$3 files
  mapfile -t files < <(compgen -G "$dist/$pattern" || true)
  if [ ${#files[@]} = 0 ] && [ "${4:-required}" = optional ]; then
    echo "skip release.$name: there is no $pattern"
    return
  fi
  if [ ${#files[@]} != 1 ]; then
    echo "FAIL release.$name: found ${#files[@]} files $pattern, allowed is one"
    status=1
    return
  fi
  mkdir -p "$work/$name"
  if (cd "$work/$name" && set -e && "$function" "${files[0]}") >"$work/$name.log" 2>&1; then
    echo "ok release.$name: ${files[0]##*/}"
  else
    echo "FAIL release.$name: $(tail -n 1 "$work/$name.log")"
    sed 's/^/  /' "$work/$name.log" >&2
    status=1
  fi
}

# quantizes PROGRAM...: the program works on a model, and has the version of the tree.
quantizes() {
  "$@" --version | grep -q "quarkq $version" || { echo "not version $version: $("$@" --version)"; return 1; }
  cp -r "$root/examples/digits/digits.onnx" "$root/examples/digits/calib" . &&
    "$@" quantize --quiet --config xint8 --calib calib --require deployable -o out.onnx digits.onnx &&
    "$@" check --quiet out.onnx
}
environment() { python3 -m venv env && env/bin/pip install --quiet --disable-pip-version-check --no-index --no-deps "$@"; }
wheel() { environment "$1" && quantizes env/bin/quarkq && env/bin/python -c "import quarkq; assert quarkq.__version__ == '$version', quarkq.__version__"; }
as_quark() { environment "$dist"/quarkq-"$version"-*manylinux*.whl "$1" && env/bin/python -c "import quark.onnx; print(quark.__version__)"; }
sdist() {
  tar -xzf "$1" || return 1
  for file in CMakeLists.txt pyproject.toml LICENSE quickstart.sh python/quarkq/__init__.py; do test -f "quarkq-$version/$file" || return 1; done
  [ -n "${QUARKQ_TRY_SDIST:-}" ] || return 0
  (cd "quarkq-$version" && mkdir build && cp -r "$root/build/deps" build/deps && scripts/build_wheel.sh) && environment quarkq-"$version"/dist/quarkq-*.whl && quantizes env/bin/quarkq
}
deb() { dpkg-deb --field "$1" Package Version Depends && dpkg-deb --extract "$1" tree && quantizes tree/usr/bin/quarkq; }
archive() { tar --zstd -xf "$1" && quantizes quarkq-"$version"-*/usr/bin/quarkq; }
bill() { python3 -c "import json, sys; bill = json.load(open(sys.argv[1])); assert bill['bomFormat'] == 'CycloneDX' and len(bill['components']) > 3, bill.keys()" "$1"; }
zip_file() { python3 -m zipfile -e "$1" tree && test -f tree/quarkq-*/bin/quarkq.exe; }
windows_wheel() { python3 -c "import sys, zipfile; names = zipfile.ZipFile(sys.argv[1]).namelist(); assert any(n.endswith('quarkq.exe') for n in names) and any(n.endswith('.dll') for n in names)" "$1"; }
manifests() {
  tar -xzf "$1" && test -f conda/recipe.yaml && compgen -G "winget/*.yaml" >/dev/null || return 1
  ! grep -rE '@[A-Z0-9_]+@?' conda winget || { echo "a placeholder is left"; return 1; }
  local hash
  for hash in $(grep -rhoiE '\b[0-9a-f]{64}\b' conda winget | tr 'A-F' 'a-f' | sort -u); do
    grep -q "^$hash " "$dist/SHA256SUMS" || { echo "the hash $hash is of no file of the release"; return 1; }
  done
}
# Every file has its checksum.
sums() { (cd "$dist" && sha256sum --check --strict --quiet SHA256SUMS && [ "$(find . -type f ! -name SHA256SUMS | wc -l)" = "$(wc -l <SHA256SUMS)" ]); }

try sums SHA256SUMS sums
try wheel "quarkq-$version-*manylinux*.whl" wheel
try as-quark "quarkq_as_quark-$version-*.whl" as_quark
try sdist "quarkq-$version.tar.gz" sdist
try deb "quarkq_${version}*.deb" deb
try archive "quarkq-$version-linux-*.tar.zst" archive
try sbom quarkq.cdx.json bill
try windows-wheel "quarkq-$version-*win_amd64.whl" windows_wheel optional
try windows-zip "quarkq-$version-windows-*.zip" zip_file optional
try windows-sbom quarkq-windows.cdx.json bill optional
try manifests "quarkq-$version-manifests.tar.gz" manifests optional
exit $status
