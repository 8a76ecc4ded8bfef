#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# quarkq against the reference, in one run on one machine: installs amd-quark from PyPI in a throw-away environment (6 GB of disk, some
# minutes) and hands the rest to compare_reference.py, or with --finetune or --tune as its first argument to compare_finetune.py or
# compare_tune.py. Other arguments go on to it.
#   QUARK_VENV=DIR  uses (and keeps) the environment DIR instead
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$(dirname "$here")")
venv=${QUARK_VENV:-}
if [ -z "$venv" ]; then
  venv=$(mktemp -d)
  trap 'rm -rf "$venv"' EXIT
fi
if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -c 'import quark.onnx' 2>/dev/null; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check amd-quark==0.13 onnxruntime onnxslim==0.1.98 pillow torch
fi
script=compare_reference.py
case ${1:-} in
  --finetune) script=compare_finetune.py; shift ;;
  --tune) script=compare_tune.py; shift ;;
esac
"$venv/bin/python" "$here/$script" --python "$venv/bin/python" --quarkq "$root/build/release/quarkq" "$@"
