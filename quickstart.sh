#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# From a bare machine to a quantized model: installs the packages, builds build/release/quarkq (and libquarkq_ort_ops.so, which
# runs its models in ONNX Runtime), quantizes the bundled classifier with the XINT8 preset, and compares the float with the
# quantized model. A second run does no work twice.
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/scripts/setup.sh"

# 4 min 46 s on two idle cores (README.md): about ten minutes of one core.
if [ ! -e build/release/quarkq ]; then
  say "the first build takes about $(((10 + jobs - 1) / jobs)) minutes with $jobs jobs on an idle machine, and longer on a busy one"
fi
install_packages "${build_packages[@]}"
build_onnx
fetch_onnxruntime
configure release OFF
build release quarkq

quarkq=build/release/quarkq
example=examples/digits
results=build/quickstart
mkdir -p "$results"

# run_model NAME MODEL: results of MODEL over the evaluation samples, unless they are newer than model and program.
run_model() {
  local name=$1 model=$2 stamp=$results/$1.done
  if [ "$stamp" -nt "$model" ] && [ "$stamp" -nt "$quarkq" ]; then return; fi
  rm -rf "${results:?}/$name" "$stamp"
  "$quarkq" run "$model" --inputs "$example/eval/inputs" --outputs "$results/$name" --quiet
  touch "$stamp"
}

quantized=$results/digits_xint8.onnx
if [ "$quantized" -nt "$example/digits.onnx" ] && [ "$quantized" -nt "$quarkq" ]; then
  say "$quantized is up to date"
else
  say "quarkq quantize --config xint8 --calib $example/calib -o $quantized $example/digits.onnx"
  "$quarkq" quantize --config xint8 --calib "$example/calib" -o "$quantized" "$example/digits.onnx"
fi
run_model float "$example/digits.onnx"
run_model xint8 "$quantized"

say "top-1 on 360 held-out digits"
echo "float:  $(python3 "$example/top1.py" "$results/float" "$example/eval/labels.csv")"
echo "XINT8:  $(python3 "$example/top1.py" "$results/xint8" "$example/eval/labels.csv")"
say "quarkq evaluate, float against XINT8 results"
"$quarkq" evaluate --baseline_results_folder "$results/float" --quantized_results_folder "$results/xint8"
say "It works. Yours: $quarkq quantize --config xint8 --target x1 --calib DIR [--preprocess NAME] model.onnx"
