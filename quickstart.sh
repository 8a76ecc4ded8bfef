#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# From a bare machine to a quantized model: quickstart.sh [--wheel FILE | --build]
#   Takes the program out of a wheel: FILE, or one for this machine in dist/ that is newer than all sources. Without a wheel, or
#   with --build, installs the packages and builds build/release/quarkq (and libquarkq_ort_ops.so, which runs its models in ONNX Runtime).
# Then it quantizes the bundled classifier with the XINT8 preset, and compares the float with the quantized model. A second run does no
# work twice.
set -euo pipefail
wheel="" wants_build=""
usage() { sed -n '3,5s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2; }
case ${1:-} in
  --wheel) [ $# = 2 ] || usage; wheel=$(realpath -m "$2") ;;
  --build) [ $# = 1 ] || usage; wants_build=1 ;;
  ?*) usage ;;
esac
# shellcheck disable=SC2154 source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/scripts/setup.sh"

# A wheel in dist/ for this machine that no source is newer than.
wheel_in_dist() {
  local file
  for file in dist/quarkq-*linux*_"$(uname -m)".whl; do
    if [ -f "$file" ] && [ -z "$(find src include tools configs CMakeLists.txt cmake -newer "$file" -print -quit)" ]; then echo "$root/$file"; fi
  done | tail -n 1
}

# program_of WHEEL: unpacks it unless that was done before, and checks that the program starts here.
program_of() {
  local folder=build/quickstart/wheel program=build/quickstart/wheel/quarkq/bin/quarkq source
  [ -f "$1" ] || die "$1: no such wheel; scripts/build_wheel.sh makes one, --build builds the program"
  source=$(stat -c '%n %s %Y' "$1")
  if [ ! -x "$program" ] || [ "$(cat "$folder/source.txt" 2>/dev/null)" != "$source" ]; then
    rm -rf "$folder"
    mkdir -p "$folder"
    python3 -m zipfile -e "$1" "$folder" 2>/dev/null || die "$1 is not a wheel"
    [ -f "$program" ] || die "$1 has no quarkq/bin/quarkq: a wheel of quarkq for Linux is needed"
    chmod +x "$program"
    touch "$program"  # newer than results of another program
    echo "$source" >"$folder/source.txt"
  fi
  "$program" --version >/dev/null || die "$1: the program does not start on this machine; quickstart.sh --build builds it here"
  quarkq=$program
}

# Builds the program. The first object takes 6 of 650 CPU seconds (scripts/build_times.py), so its time shows how fast this machine is.
build_program() {
  local first=src/base/CMakeFiles/quarkq_base.dir/Unity/unity_0_cxx.cxx.o ratio=110 begin
  install_packages "${build_packages[@]}"
  build_onnx
  fetch_onnxruntime
  configure release OFF
  if [ ! -e build/release/quarkq ]; then
    begin=$(date +%s%N)
    build release "$first"
    say "building takes about $((($(date +%s%N) - begin) * ratio / jobs / 60000000000 + 1)) minutes here, with $jobs jobs"
  fi
  build release quarkq
  quarkq=build/release/quarkq
}

if [ -z "$wheel$wants_build" ]; then wheel=$(wheel_in_dist); fi
if [ -n "$wheel" ]; then
  say "using $wheel (--build builds the program instead)"
  program_of "$wheel"
else
  build_program
fi
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
