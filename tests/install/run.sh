#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs a build tree into a fresh folder and builds a small project against it: run.sh BUILD_FOLDER.
# Prints "ok name" or "FAIL name: why" for each step; later steps need the earlier ones.
set -euo pipefail
build=$(cd "${1:?usage: run.sh BUILD_FOLDER}" && pwd)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# step NAME COMMAND...: output is shown only when it fails.
step() {
  local name=$1
  shift
  if "$@" >"$work/log" 2>&1; then
    echo "ok install.$name"
  else
    sed 's/^/    /' "$work/log" | tail -n 30
    echo "FAIL install.$name: \`$*\` failed, see above"
    exit 1
  fi
}

# The installed program finds what it needs without the build tree.
program_runs() { "$work/prefix/bin/quarkq" --version | grep -q '^quarkq '; }
# No installed CMake file may name the folders it was built in.
is_relocatable() { ! grep -rlF -e "$build" -e "$work/prefix" "$work/moved" --include='*.cmake'; }
consumer_runs() {
  (cd "$work" && "$work/consumer/consumer") >"$work/said"
  cat "$work/said"
  grep -qE '^version [0-9]+\.[0-9]+\.[0-9]+$' "$work/said" && grep -qE '^status 2: nowhere\.onnx' "$work/said"
}

step cmake_install cmake --install "$build" --prefix "$work/prefix"
step program_runs program_runs
has_texts() { (cd "$work/prefix/share" && ls bash-completion/completions/quarkq zsh/site-functions/_quarkq fish/vendor_completions.d/quarkq.fish man/man1/quarkq.1); }
step has_texts has_texts
# As a package would be: unpacked at a place other than the one it was installed to.
mv "$work/prefix" "$work/moved"
step is_relocatable is_relocatable
step find_package cmake -S "$here" -B "$work/consumer" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/moved"
step consumer_builds cmake --build "$work/consumer"
step consumer_runs consumer_runs
