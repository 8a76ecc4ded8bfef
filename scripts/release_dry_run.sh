#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a tag does, without the upload: release_dry_run.sh [--windows] [--keep DIST]
#   The committed state is cloned into a temporary folder and tagged with the version of CMakeLists.txt. The clone builds every file of the
#   release (scripts/build_release.sh), and each is installed and tried (scripts/try_release.sh). --windows: also the files for Windows x64
#   and the manifests for winget and conda. --keep: the files are copied to DIST.
set -euo pipefail
windows=() keep=
while [ $# -gt 0 ]; do
  case $1 in
    --windows) windows=(--windows --project https://github.com/quarkq/quarkq) ;;
    --keep) keep=${2:-}; [ -n "$keep" ] || exit 2; shift ;;
    *) sed -n '3,6s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
  esac
  shift
done
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone --quiet "$root" "$work/quarkq"
cd "$work/quarkq"
version=$(sed -n 's/^project(quarkq VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
git -c user.name=release -c user.email=release@localhost tag --annotate --message "dry run" "v$version"
scripts/check_release.sh "v$version"
mkdir build
[ ! -d "$root/build/deps" ] || cp -r "$root/build/deps" build/deps
[ ! -d "$root/build/wheel-tools" ] || cp -r "$root/build/wheel-tools" build/wheel-tools
scripts/build_release.sh "${windows[@]}"
scripts/api_dump.py build/release/quarkq --compare
scripts/try_release.sh dist
[ -z "$keep" ] || { mkdir -p "$keep" && cp dist/* "$keep"; }
