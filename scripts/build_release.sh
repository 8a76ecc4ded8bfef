#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Everything that a release has, in dist/: wheels, source archive, .deb, .tar.zst, SBOM (CycloneDX), SHA256SUMS.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rm -rf dist
scripts/build_wheel.sh --sdist
scripts/build_packages.sh
build/wheel-tools/bin/python scripts/make_sbom.py build/release/quarkq dist/quarkq.cdx.json
(cd dist && sha256sum -- * >../build/SHA256SUMS && mv ../build/SHA256SUMS .)
cat dist/SHA256SUMS
