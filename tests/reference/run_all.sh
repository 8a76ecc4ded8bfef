#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Agreement with the reference: every recorded result of ../shared/golden against ours in compat mode.
#   tests/reference/run_all.sh            prints matched/total per model and case, and the sums
#   tests/reference/run_all.sh --check    one "ok"/"FAIL" line per set; fails when a case is worse than in agreement_*.txt
#   tests/reference/run_all.sh --record   writes agreement_*.txt and modes.md anew
#   tests/reference/run_all.sh --modes    one line per network and preset: the default mode is as good as compat mode
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$(dirname "$here")")
python=${PYTHON:-$root/build/venv/bin/python}
if [ ! -d "$root/../shared/golden" ]; then
  echo "skip reference: ../shared/golden is not there"
  exit 0
fi
if [ "${1:-}" = --modes ]; then exec "$python" "$here/compare_modes.py" --check; fi
status=0
for set in small networks; do
  flag=
  [ "$set" = small ] && flag=--small
  case ${1:-} in
    --check) "$python" "$here/run_all.py" $flag --check "$here/agreement_$set.txt" || status=1 ;;
    --record) "$python" "$here/run_all.py" $flag --write "$here/agreement_$set.txt" ;;
    *) "$python" "$here/run_all.py" $flag ;;
  esac
done
if [ "${1:-}" = --record ]; then "$python" "$here/compare_modes.py" --write "$here/modes.md" || status=1; fi
exit $status
