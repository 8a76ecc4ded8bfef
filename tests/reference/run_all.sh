#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Agreement with the reference: every recorded result against ours in compat mode. The set own is in this repository (own/), the
# sets small and networks are in ../shared/golden and skipped when that is not there.
#   tests/reference/run_all.sh            prints matched/total per model and case, and the sums
#   tests/reference/run_all.sh --check    one "ok"/"FAIL" line per set; fails when a case is worse than in agreement_*.txt
#   tests/reference/run_all.sh --record   rewrites agreement_*.txt and modes.md
#   tests/reference/run_all.sh --modes    one line per network and preset: the default mode is as good as compat mode
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$(dirname "$here")")
python=${PYTHON:-$root/build/venv/bin/python}
sets=(own)
if [ -d "$root/../shared/golden" ]; then
  sets+=(small networks)
else
  echo "skip reference: ../shared/golden is not there"
fi
if [ "${1:-}" = --modes ]; then
  if [ "${#sets[@]}" = 1 ]; then exit 0; fi
  exec "$python" "$here/compare_modes.py" --check
fi
status=0
for set in "${sets[@]}"; do
  case ${1:-} in
    --check) "$python" "$here/run_all.py" --set "$set" --check "$here/agreement_$set.txt" || status=1 ;;
    --record) "$python" "$here/run_all.py" --set "$set" --write "$here/agreement_$set.txt" ;;
    *) "$python" "$here/run_all.py" --set "$set" ;;
  esac
done
if [ "${1:-}" = --record ]; then "$python" "$here/compare_modes.py" --write "$here/modes.md" || status=1; fi
exit $status
