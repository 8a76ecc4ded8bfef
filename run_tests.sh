#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The tests of quarkq: run_tests.sh [--long] [SUITE...]
#   SUITE    only these suites of: lint unit conformance e2e reference targets fuzz install python windows, and with --long
#            unit-asan fuzz-asan bad-input-asan threads-tsan bare modes recipes engines tidy. Without one, all. CONTRIBUTING.md says how long each takes.
#   --long   also: warnings are errors; the wheel on a bare Debian 12 and 13; the default mode beside compat mode on all shared
#            networks; every recipe; Dask and Slurm; the unit and bad-input tests under AddressSanitizer and UBSan; the tests of threads under ThreadSanitizer;
#            clang-tidy over 40 files at most.
#            With $QUARKQ_TEST_MINUTES these are skipped where the machine is too slow for them to end in time.
# The last line is "N passed, N failed" (", N skipped" when some could not run here); the exit status is 0 when none failed.
# Each test prints one line; what a suite printed is kept in build/test-logs/.
set -euo pipefail
long= only=
suites=" lint unit conformance e2e reference targets fuzz install python windows "
long_suites=" unit-asan fuzz-asan bad-input-asan threads-tsan bare modes recipes engines tidy "
usage() { sed -n '3,10s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2; }
for argument in "$@"; do
  case "$suites$long_suites" in
    *" $argument "*) only+=" $argument " ;;
    *) [ "$argument" = --long ] || usage; long=1 ;;
  esac
done
for argument in $only; do
  case $long_suites in *" $argument "*) [ -n "$long" ] || usage ;; esac
done
# wanted SUITE...: whether one of them runs.
wanted() {
  local name
  [ -n "$only" ] || return 0
  for name in "$@"; do case $only in *" $name "*) return 0 ;; esac; done
  return 1
}
passed=0 failed=0 skipped=0 finished=
close() {
  if [ "$failed" -gt 0 ]; then say "failures"; cat "$failures"; fi
  [ -n "$finished" ] || { echo "FAIL run_tests.sh: stopped before all suites had run"; failed=$((failed + 1)); }
  if [ "$skipped" -gt 0 ]; then echo "$passed passed, $failed failed, $skipped skipped"; else echo "$passed passed, $failed failed"; fi
  [ "$failed" -eq 0 ] || exit 1
}
trap close EXIT
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/scripts/setup.sh"
# With the time since the start: where it goes, and where a run that was stopped had come to.
say() { printf '== %d:%02d %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"; }
logs=$root/build/test-logs
mkdir -p "$logs"
failures=$logs/failures.txt # said again at the end: who sees the end of the output sees them
: >"$failures"

# suite NAME COMMAND...: COMMAND prints "ok name", "FAIL name: why" or "skip name: why" lines; anything else is detail.
suite() {
  local name=$1 log=$logs/$1.log status=0 ok bad
  shift
  wanted "$name" || return 0
  say "$name"
  "$@" </dev/null 2>&1 | tee "$log" || status=$?
  ok=$(grep -c '^ok ' "$log") || true
  bad=$(grep -c '^FAIL ' "$log") || true
  if [ "$status" != 0 ] && [ "$bad" = 0 ]; then
    echo "FAIL $name: the runner ended with status $status" | tee -a "$failures"
    bad=1
  elif [ $((ok + bad)) = 0 ] && ! grep -q '^skip ' "$log"; then
    echo "FAIL $name: no test ran" | tee -a "$failures"
    bad=1
  fi
  grep '^FAIL ' "$log" | cut -c 1-500 >>"$failures" || true
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + $(grep -c '^skip ' "$log" || true)))
}

# A throw-away environment for the checks against the outside world, made again when its list of packages changes.
make_venv() {
  local list=tests/e2e/requirements.txt
  if cmp -s "$list" build/venv/requirements.done; then return; fi
  say "making build/venv"
  rm -rf build/venv
  python3 -m venv build/venv
  build/venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$list"
  cp "$list" build/venv/requirements.done
}

# shellcheck disable=SC2154
install_packages "${build_packages[@]}" "${test_packages[@]}" ${long:+"${long_packages[@]}"}
build_onnx
fetch_onnxruntime
configure release ON ${long:+QUARKQ_WERROR}
built=$SECONDS
build release all
built=$((SECONDS - built)) # seconds: how fast this machine is
make_venv
python=build/venv/bin/python
export QUARKQ=$root/build/release/quarkq PYTHONDONTWRITEBYTECODE=1

suite lint "$python" tests/lint/run.py
suite unit "$python" scripts/run_unit.py --jobs "$jobs" build/release/tests/quarkq_tests
if [ -f tests/conformance/run.py ]; then suite conformance "$python" tests/conformance/run.py; fi
suite e2e "$python" tests/e2e/harness.py --jobs "$jobs"
suite reference env PYTHON="$python" bash tests/reference/run_all.sh --check
suite targets "$python" tests/targets/legalized.py --check --only "squeezenet|nanodet|resnet8|vit_digits"
suite fuzz "$python" tests/fuzz/run.py build/release/tests/quarkq_fuzz_replay --seconds 3
suite install bash tests/install/run.sh build/release
suite python env -u PYTHONPATH "$python" tests/python/run.py --make
# Its libraries take half an hour to build, so it is built only when it is named; else the suite skips, or tests what is there.
case $only in *" windows "*)
  # shellcheck disable=SC2154
  install_packages "${windows_packages[@]}" "${wine_packages[@]}"
  scripts/build_windows.sh --tests
  ;;
esac
suite windows "$python" tests/windows/run.py

# affords MINUTES NAME SUITE...: whether a step that runs these suites is wanted and, taking so long where the build takes 12
# minutes, ends within $QUARKQ_TEST_MINUTES.
affords() {
  wanted "${@:3}" || return 1
  local need=$(($1 * built / 12)) limit=${QUARKQ_TEST_MINUTES:-}
  if [ -z "$limit" ] || [ $((SECONDS + need)) -lt $((limit * 60)) ]; then return 0; fi
  echo "skip $2: takes about $((need / 60)) minutes on this machine, $((limit - SECONDS / 60)) are left"
  skipped=$((skipped + 1))
  return 1
}

if [ -n "$long" ] && affords 24 asan unit-asan fuzz-asan bad-input-asan; then
  configure asan ON
  build asan quarkq quarkq_tests quarkq_fuzz_replay
  # The packages are not instrumented: containers that cross into them look overflown.
  export ASAN_OPTIONS=detect_container_overflow=0:allocator_may_return_null=1
  export UBSAN_OPTIONS=print_stacktrace=1
  export LSAN_OPTIONS=suppressions=$root/scripts/lsan.supp:print_suppressions=0
  suite unit-asan "$python" scripts/run_unit.py --jobs "$jobs" build/asan/tests/quarkq_tests
  # Hours of the same are in tests/fuzz/results.json; this is for what changed since.
  suite fuzz-asan "$python" tests/fuzz/run.py build/asan/tests/quarkq_fuzz_replay --seconds 60
  QUARKQ=$root/build/asan/quarkq suite bad-input-asan "$python" tests/e2e/harness.py --jobs "$jobs" test_bad_input test_calib_data
fi
if [ -n "$long" ] && affords 6 threads-tsan threads-tsan; then
  configure tsan ON
  build tsan quarkq_thread_tests
  OMP_NUM_THREADS=1 suite threads-tsan "$python" scripts/run_unit.py build/tsan/tests/quarkq_thread_tests
fi
if [ -n "$long" ] && affords 4 bare bare; then suite bare bash tests/install/bare.sh dist/quarkq-*linux*.whl; fi
if [ -n "$long" ] && affords 5 modes modes; then suite modes env PYTHON="$python" bash tests/reference/run_all.sh --modes; fi
if [ -n "$long" ] && affords 12 recipes recipes; then suite recipes env QUARKQ_RECIPES=all "$python" tests/e2e/harness.py test_recipes; fi
if [ -n "$long" ] && affords 3 engines engines; then suite engines "$python" tests/engines/run.py; fi
# The whole tree takes too long for every run (scripts/tidy.py --all): what the last commit changed.
if [ -n "$long" ] && affords 12 tidy tidy; then
  configure tidy ON
  suite tidy "$python" scripts/tidy.py --since HEAD~1 --most 40
fi
finished=1
