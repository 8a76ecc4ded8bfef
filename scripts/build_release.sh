#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Everything that a release has, in dist/: build_release.sh [--windows [--project ADDRESS]]
#   Wheels, source archive, .deb, .tar.zst, SBOM (CycloneDX), SHA256SUMS.
#   --windows: also the wheel, the .zip and the SBOM for Windows x64.
#   --project: also quarkq-VERSION-manifests.tar.gz, the manifests for winget and conda. Their addresses are those of the project's releases.
set -euo pipefail
usage() { sed -n '3,6s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2; }
windows= project=
while [ $# -gt 0 ]; do
  case $1 in
    --windows) windows=1 ;;
    --project) project=${2:-}; [ -n "$project" ] || usage; shift ;;
    *) usage ;;
  esac
  shift
done
[ -z "$project" ] || [ -n "$windows" ] || usage
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rm -rf dist
scripts/build_wheel.sh --sdist
scripts/build_packages.sh
python=build/wheel-tools/bin/python
$python scripts/make_sbom.py build/release/quarkq dist/quarkq.cdx.json
if [ -n "$windows" ]; then
  scripts/build_windows.sh --package
  $python scripts/make_sbom.py --windows dist/quarkq-windows.cdx.json
fi
if [ -n "$project" ]; then
  rm -rf build/manifests
  python3 scripts/render_packages.py dist "$project" build/manifests
  version=$(sed -n 's/^project(quarkq VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -C build/manifests -czf "dist/quarkq-$version-manifests.tar.gz" conda winget
fi
(cd dist && sha256sum -- * >../build/SHA256SUMS && mv ../build/SHA256SUMS .)
cat dist/SHA256SUMS
