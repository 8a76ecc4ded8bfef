# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# The set-up that quickstart.sh and run_tests.sh share; sourced by both. Each step looks first whether it is done already.
# Expects: `set -euo pipefail`. Sets: root (the project's folder; also the current one afterwards), jobs.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1
jobs=${QUARKQ_JOBS:-$(nproc)}

# ocl-icd-opencl-dev: oneDNN's CMake package asks for OpenCL, and Debian's libdnnl-dev does not bring it.
build_packages=(g++ cmake ninja-build ccache python3 python3-pip ca-certificates libprotobuf-dev protobuf-compiler libdnnl-dev
  libeigen3-dev libyaml-cpp-dev nlohmann-json3-dev libcli11-dev libspdlog-dev libfmt-dev libstb-dev libxxhash-dev zlib1g-dev ocl-icd-opencl-dev)
test_packages=(python3-venv libgtest-dev libgmock-dev zsh fish groff-base)
long_packages=(chromium clang-tidy debootstrap slurm-wlm munge)
windows_packages=(g++-mingw-w64-x86-64-posix)
wine_packages=(wine64)

say() { printf '== %s\n' "$*"; }
die() { printf '%s: error: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# Those of the named packages that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) == 'install ok installed' ]] || printf '%s ' "$package"
  done
}

# install_packages NAME...: installs what is missing, as root or through sudo; says what is needed when it cannot.
install_packages() {
  local missing as_root=()
  if [ -n "${QUARKQ_SKIP_PACKAGES:-}" ]; then return; fi
  if ! command -v dpkg-query >/dev/null; then
    say "not a Debian-like system; needed here are what Debian calls: $*"
    return
  fi
  missing=$(missing_packages "$@")
  if [ -z "$missing" ]; then return; fi
  say "packages: apt-get install -y --no-install-recommends $missing"
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null || ! { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
      die "packages are missing and this user cannot install them; run the line above as root" \
        "(or set QUARKQ_SKIP_PACKAGES=1 if you have them from elsewhere)"
    fi
    as_root=(sudo)
  fi
  mkdir -p build
  # shellcheck disable=SC2024,SC2086
  { "${as_root[@]}" apt-get update -q &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing; } >build/packages.log 2>&1 ||
    { tail -n 15 build/packages.log >&2; die "installing packages failed; the whole log is build/packages.log"; }
}

# The onnx library, once.
build_onnx() { CMAKE_BUILD_PARALLEL_LEVEL=$jobs third_party/onnx/build.sh build/deps/onnx; }

# ONNX Runtime's C header, once: libquarkq_ort_ops.so is built with it.
fetch_onnxruntime() {
  third_party/onnxruntime/fetch_headers.sh build/deps/onnxruntime ||
    say "libquarkq_ort_ops.so is left out (its tests are skipped): ONNX Runtime's headers could not be fetched; all else is built"
}

# configure PRESET TESTS(ON|OFF) [SWITCH...]: only when the tree is new, or when tests or a switch are wanted and it has them not.
configure() {
  local preset=$1 tests=$2 cache=build/$1/CMakeCache.txt log=build/$1-configure.log switch wanted=() missing=
  shift 2
  if [ "$tests" = ON ]; then set -- QUARKQ_BUILD_TESTS "$@"; else wanted=(-DQUARKQ_BUILD_TESTS=OFF); fi
  for switch in "$@"; do
    wanted+=("-D$switch=ON")
    grep -q "^$switch:[A-Z]*=ON$" "$cache" 2>/dev/null || missing=1
  done
  if [ -f "build/$preset/build.ninja" ] && [ -z "$missing" ]; then return; fi
  say "configuring build/$preset"
  mkdir -p build
  cmake --preset "$preset" "${wanted[@]}" >"$log" 2>&1 || { tail -n 30 "$log" >&2; die "configuring failed; the whole log is $log"; }
}

# build PRESET TARGET...: quiet unless something fails.
build() {
  local preset=$1
  shift
  say "building build/$preset: $*"
  ninja -C "build/$preset" -j "$jobs" "$@" >"build/$preset-build.log" 2>&1 ||
    { grep -A20 -m1 -E '^FAILED|error' "build/$preset-build.log" >&2; die "building failed; the whole log is build/$preset-build.log"; }
}
