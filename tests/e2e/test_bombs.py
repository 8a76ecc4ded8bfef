# SPDX-License-Identifier: MIT
"""A hostile file makes no verb take more than a bounded time and memory: the table of bombs.py."""
import os
import resource
import subprocess
import time

import harness
from bombs import ADDED, BOMBS, FILLED, SUM, ints, run_of, save_model
from harness import Skip, expect, temp_folder, test

MOST_SECONDS = 20
TIMEOUT = "4"  # of the program itself: what computes for years is ended by it


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))


@test(cases=BOMBS)
def a_bomb_ends(bomb):
    with temp_folder() as folder:
        arguments = bomb.make(folder)
        before = set(os.listdir(folder))
        begin = time.monotonic()
        with open(os.path.join(folder, "said"), "w+", encoding="utf-8", errors="replace") as said:
            process = subprocess.Popen([harness.QUARKQ, *arguments, "--timeout", TIMEOUT], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=said, preexec_fn=limited)
            try:
                _, status, usage = wait_at_most(process, MOST_SECONDS)
            finally:
                if process.poll() is None:
                    process.kill()
            said.seek(0)
            text = said.read()
        seconds, code = time.monotonic() - begin, os.waitstatus_to_exitcode(status)
        peak = usage.ru_maxrss * 1024
        expect(code in bomb.codes or (bomb.may_run and code == 0), f"exit code {code}: {text[-400:]}")
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # counts for the child, too: it was forked
        expect(peak < max(bomb.most_mib << 20, own + (64 << 20)), f"took {peak >> 20} MiB; exit code {code}, {text[-200:]}")
        if code != 0:
            expect("quarkq: error: " in text, f"no message: {text[-400:]}")
            expect(all(word in text for word in bomb.words), f"without {bomb.words}: {text[-400:]}")
            left = set(os.listdir(folder)) - before - {"said", "results"}
            expect(not left, f"left {left}")
        return f"exit code {code} after {seconds:.1f} s and {peak >> 20} MiB"


def wait_at_most(process, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return pid, status, usage
        time.sleep(0.01)
    process.kill()
    _, status, _ = os.wait4(process.pid, 0)
    process.returncode = -9
    raise harness.Failure(f"did not end within {seconds} s")


def run_on_machine(arguments, folder, **kibibytes):
    """As on a machine whose /proc/meminfo says that, for as long as the run takes."""
    said = os.path.join(folder, "meminfo")
    with open(said, "w", encoding="utf-8") as file:
        file.writelines(f"{name}: {size} kB\n" for name, size in kibibytes.items())
    inside = ["unshare", "--map-root-user", "--mount", "sh", "-c", f'mount --bind "{said}" /proc/meminfo && exec "$@"', "sh"]
    if subprocess.run([*inside, "true"], capture_output=True).returncode != 0:
        raise Skip("no mount namespaces here")
    return subprocess.run([*inside, harness.QUARKQ, *arguments], capture_output=True, text=True)


MACHINE = {"MemTotal": 1 << 20}  # 1 GiB


@test(cases=[("almost nothing is left", {"MemAvailable": 5000}, 7), ("enough is left", {"MemAvailable": 500000}, 0),
             ("the rest fits into the swap", {"MemAvailable": 5000, "SwapFree": 500000}, 0)])
def a_run_ends_before_memory_runs_out(case):
    _, left, code = case
    with temp_folder() as folder:
        model, calib = save_model(folder, [FILLED, SUM, ADDED], [("shape", ints(2 ** 27))])  # 512 MiB
        ended = run_on_machine(run_of(model, calib), folder, **MACHINE, **left)
        expect(ended.returncode == code, f"exit code {ended.returncode}: {ended.stderr}")
        if code == 7:
            expect(ended.stderr.startswith("quarkq: error: out of memory: the run has taken ") and "docs/large-models.md" in ended.stderr, ended.stderr)
            expect("of the 1024M that this machine has, and 5M are left" in ended.stderr, ended.stderr)


@test()
def a_small_run_is_not_ended_for_what_others_take():
    with temp_folder() as folder:
        model, calib = save_model(folder, [FILLED, SUM, ADDED], [("shape", ints(2 ** 20))])
        ended = run_on_machine(run_of(model, calib), folder, **MACHINE, MemAvailable=5000)
        expect(ended.returncode == 0, f"exit code {ended.returncode}: {ended.stderr}")
