# SPDX-License-Identifier: MIT
"""Runs one command: measured.py RESULT.json COMMAND... writes its exit code, times and peak memory to RESULT.json.

A process of its own, because the peak memory that Linux reports for a child is at least that of the process that started it."""
import json
import os
import sys
import time

begin = time.monotonic()
child = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(child, 0)
with open(sys.argv[1], "w", encoding="ascii") as out:
    json.dump({"exit_code": os.waitstatus_to_exitcode(status), "wall_seconds": round(time.monotonic() - begin, 3),
               "processor_seconds": round(usage.ru_utime + usage.ru_stime, 3), "peak_rss_mib": round(usage.ru_maxrss / 1024, 1)}, out)
