#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs build/windows/NAME.exe under wine, where this script is linked as NAME, or PROGRAM: wine.sh PROGRAM [ARGUMENT]...
# Wine's settings are in build/wine.
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
export WINEPREFIX=$root/build/wine WINEDEBUG=-all
wine=$(command -v wine64 || echo /usr/lib/wine/wine64)
name=$(basename "$0")
if [ "$name" = wine.sh ]; then exec "$wine" "$@"; fi
exec "$wine" "$root/build/windows/$name.exe" "$@"
