#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Whether a tag fits the tree: check_release.sh vX.Y.Z. The tag is the version of CMakeLists.txt, and CHANGELOG.md has its section, of
# 40 lines at most.
set -euo pipefail
[ $# = 1 ] || { sed -n '3,4s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."
most_lines=40
version=$(sed -n 's/^project(quarkq VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[ "$1" = "v$version" ] || { echo "check_release.sh: the tag is $1, CMakeLists.txt has version $version" >&2; exit 1; }
lines=$(awk -v version="$version" '/^## /{inside = $2 == version} inside && NF{count++} END{print count + 0}' CHANGELOG.md)
[ "$lines" -gt 1 ] || { echo "check_release.sh: CHANGELOG.md has no section $version" >&2; exit 1; }
[ "$lines" -le "$most_lines" ] || { echo "check_release.sh: the section $version of CHANGELOG.md has $lines lines, allowed are $most_lines" >&2; exit 1; }
echo "ok release.tag: $1, $lines lines in CHANGELOG.md"
