# SPDX-License-Identifier: MIT
"""Calibrate, merge and tune from Dask: the block of docs/scaling.md on three workers, some of which are killed."""
import os
import re
import subprocess
import sys
import time

from run import HERE, ROOT, Skip, alone, expect_same

ADDRESS = "tcp://scheduler:8786"
# Three workers with a nanny each, which starts a killed worker again; the address goes to stdout.
CLUSTER = """
import sys
from dask.distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


def environment(folder):
    python, wanted = os.path.join(folder, "venv", "bin", "python"), os.path.join(HERE, "requirements.txt")
    done = os.path.join(folder, "requirements.done")
    with open(wanted, encoding="utf-8") as file:
        text = file.read()
    if os.path.exists(done) and open(done, encoding="utf-8").read() == text:
        return python
    os.makedirs(folder, exist_ok=True)
    for command in ([sys.executable, "-m", "venv", os.path.join(folder, "venv")], [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", wanted]):
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise Skip(f"Dask cannot be installed: {(made.stderr.strip().splitlines() or ['no reason given'])[-1]}")
    with open(done, "w", encoding="utf-8") as file:
        file.write(text)
    return python


def documented():
    with open(os.path.join(ROOT, "docs", "scaling.md"), encoding="utf-8") as file:
        return re.search(r"```python\n(.*?)```", file.read(), re.S).group(1)


def workers_of(cluster):
    """Process ids of the workers: children of the cluster that run tasks (each nanny is a thread of the cluster)."""
    listed = subprocess.run(["pgrep", "-P", str(cluster.pid), "-f", "spawn_main"], capture_output=True, text=True, check=False)
    return [int(pid) for pid in listed.stdout.split()]


def kill_some(cluster, script, most=3):
    """Kills a worker every second while the script runs, with what it has started."""
    killed = 0
    while script.poll() is None:
        time.sleep(1)
        workers = workers_of(cluster)
        if killed < most and len(workers) > 1:
            # The worker first: it must not live to report that its program was killed, as on a machine that stops.
            started = subprocess.run(["pgrep", "-P", str(workers[0])], capture_output=True, text=True, check=False).stdout.split()
            subprocess.run(["kill", "-KILL", str(workers[0]), *started], check=False)
            killed += 1
    return killed


def run(folder, variables, environment_folder):
    python = environment(environment_folder)
    alone(folder)
    text = documented()
    assert ADDRESS in text, f"docs/scaling.md has no {ADDRESS}"
    for i in range(4):
        os.mkdir(os.path.join(folder, f"tuned{i}"))
    with open(os.path.join(folder, "cluster.py"), "w", encoding="utf-8") as file:
        file.write(CLUSTER)
    cluster = subprocess.Popen([python, "cluster.py"], cwd=folder, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = cluster.stdout.readline().strip()
        assert address.startswith("tcp://"), "the cluster did not start"
        with open(os.path.join(folder, "script.py"), "w", encoding="utf-8") as file:
            file.write(text.replace(ADDRESS, address))
        script = subprocess.Popen([python, "script.py"], cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        killed = kill_some(cluster, script)
        said = script.communicate(timeout=600)[0]
        assert script.returncode == 0, said[-800:]
    finally:
        cluster.stdin.close()
        cluster.wait(timeout=60)
    expect_same(folder, "quantized.onnx", "alone/quantized.onnx")
    for i in range(4):
        expect_same(folder, f"tuned{i}/model.onnx", "alone/model.onnx")
    assert killed > 0, "no worker was killed"
    return f"16 shards and 4 tuners on 3 workers, {killed} killed: the bytes of a single process"
