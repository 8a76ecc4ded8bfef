#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The wheel on machines that have nothing of ours: bare.sh WHEEL [SUITE...], by default bookworm and trixie (Debian 12 and 13).
# Each is made by debootstrap in a temporary folder, gets Python's venv and the wheel from pip, and quantizes the bundled example. Needs
# root and the package mirror; prints "skip bare.SUITE: why" without them.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
wheel=$1
shift
if [ ! -f "$wheel" ]; then
  echo "skip bare: there is no $wheel"
  exit 0
fi
[ $# -gt 0 ] || set -- bookworm trixie
mirror=$(awk '/^URIs:/{print $2; exit}' /etc/apt/sources.list.d/debian.sources 2>/dev/null || true)
log=$root/build/test-logs/bare-machine.log
mkdir -p "$(dirname "$log")"

# What runs there, as its root: what comes from elsewhere, then what is ours.
packages='set -e
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
apt-get update -q && apt-get install -y -q --no-install-recommends python3-venv
python3 -m venv /v && /v/bin/pip install -q --disable-pip-version-check numpy'
commands='set -e
/v/bin/pip install -q --disable-pip-version-check --no-index /w/*.whl
cd /w/digits
/v/bin/quarkq quantize --config xint8 --calib calib digits.onnx
/v/bin/quarkq check digits_quantized.onnx
/v/bin/python -c "import quarkq; [results] = quarkq.run(\"digits_quantized.onnx\", \"calib\", limit=1); print(results)"'

machine=
remove_machine() {
  [ -n "$machine" ] || return 0
  umount "$machine/proc" 2>/dev/null || true
  rm -rf --one-file-system "$machine"
  machine=
}
trap remove_machine EXIT

make_machine() {
  debootstrap --variant=minbase --include=ca-certificates "$1" "$machine" ${mirror:+"$mirror"} && mount -t proc proc "$machine/proc" || return 1
  cp /etc/resolv.conf "$machine/etc/" 2>/dev/null || true
  cp /etc/ssl/certs/ca-certificates.crt "$machine/etc/ssl/certs/"
  chroot "$machine" /bin/bash -c "$packages"
}

for suite in "$@"; do
  if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
    echo "skip bare.$suite: needs root and debootstrap"
    continue
  fi
  machine=$(mktemp -d "${TMPDIR:-/var/tmp}/quarkq-bare-XXXXXX")
  if ! make_machine "$suite" >"$log" 2>&1; then
    echo "skip bare.$suite: it could not be made: $(tail -n 1 "$log")"
    remove_machine
    continue
  fi
  mkdir "$machine/w"
  cp -r "$root/examples/digits" "$wheel" "$machine/w/"
  if chroot "$machine" /bin/bash -c "$commands" >"$log" 2>&1; then
    echo "ok bare.$suite: $(basename "$wheel")"
  else
    cp "$log" "$root/build/test-logs/bare-$suite.log"
    echo "FAIL bare.$suite: $(tail -n 1 "$log"); build/test-logs/bare-$suite.log has the rest"
  fi
  remove_machine
done
