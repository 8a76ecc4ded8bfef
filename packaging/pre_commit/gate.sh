#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs a verb for each model that pre-commit passes: gate.sh check|evaluate [--OPTION=VALUE...] MODEL.onnx...
# The exit code is that of the last model that fails. The program is $QUARKQ, the one on the path, or the one of the Python package.
set -euo pipefail
if [ -n "${QUARKQ:-}" ]; then
  program=("$QUARKQ")
elif command -v quarkq >/dev/null; then
  program=(quarkq)
elif python3 -c 'import quarkq' 2>/dev/null; then
  program=(python3 -m quarkq)
else
  echo "gate.sh: quarkq is not on the path; install its wheel or its Debian package (docs/python.md)" >&2
  exit 2
fi
verb=${1:-}
case $verb in
  check) before=() ;;
  evaluate) before=(--quantized) ;;
  *) echo "gate.sh: found '$verb', allowed are check and evaluate" >&2; exit 2 ;;
esac
options=() models=()
for argument in "${@:2}"; do
  case $argument in
    -*) options+=("$argument") ;;
    *.onnx) models+=("$argument") ;;
    *) echo "gate.sh: $argument is not a model; write options as --name=value" >&2; exit 2 ;;
  esac
done
code=0
for model in "${models[@]}"; do
  echo "== $model"
  "${program[@]}" "$verb" "${options[@]}" "${before[@]}" "$model" || code=$?
done
exit "$code"
