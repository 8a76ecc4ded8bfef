#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# dist/quarkq_VERSION_ARCH.deb and dist/quarkq-VERSION-linux-ARCH.tar.zst from build/release.
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

# shellcheck disable=SC2154
install_packages "${build_packages[@]}" dpkg-dev file
build_onnx
fetch_onnxruntime
configure release OFF
build release quarkq quarkq_shared quarkq_texts
say "packing"
mkdir -p dist
rm -f dist/quarkq_*.deb dist/quarkq-*.tar.zst
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 1700000000)  # the same bytes for the same commit
export SOURCE_DATE_EPOCH
umask 022
(cd build/release && cpack) >build/packages-cpack.log 2>&1 || { tail -n 30 build/packages-cpack.log >&2; die "packing failed"; }
rm -rf dist/_CPack_Packages
for file in dist/quarkq_*.deb dist/quarkq-*.tar.zst; do say "$file: $(($(stat -c %s "$file") / 1024)) KB"; done
