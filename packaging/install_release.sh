#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs quarkq for the actions of this repository into $RUNNER_TEMP/quarkq. $WHEEL: a path or an address; if it is empty, the wheel of the
# release that this checkout belongs to is fetched from $REPOSITORY, and its checksum and attestation are verified.
# Nothing comes from a package index: a name there may belong to anyone. The program needs no other package.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ -z "${WHEEL:-}" ]; then
  version=$(sed -n 's/^project(quarkq VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
  release=$RUNNER_TEMP/quarkq-release
  gh release download "v$version" --repo "$REPOSITORY" --pattern 'quarkq-*.whl' --pattern SHA256SUMS --dir "$release"
  (cd "$release" && sha256sum --check --strict --ignore-missing SHA256SUMS)
  WHEEL=$(echo "$release"/quarkq-"$version"-*manylinux*.whl)
  gh attestation verify "$WHEEL" --repo "$REPOSITORY"
fi
python3 -m venv "$RUNNER_TEMP/quarkq"
"$RUNNER_TEMP/quarkq/bin/pip" install --quiet --no-index --no-deps --only-binary :all: "$WHEEL"
