#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs PROGRAM under wine: wine.sh PROGRAM [ARGUMENT]... A link NAME to this script runs NAME.exe in the folder of the link.
# Wine's settings are in build/wine.
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
export WINEPREFIX=$root/build/wine WINEDEBUG=-all
wine=$(command -v wine64 || echo /usr/lib/wine/wine64)
name=$(basename "$0")
if [ "$name" = wine.sh ]; then exec "$wine" "$@"; fi
exec "$wine" "$(dirname "$0")/$name.exe" "$@"
