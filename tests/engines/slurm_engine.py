# SPDX-License-Identifier: MIT
"""The recipes of docs/scaling.md on a real Slurm of one node: calibration, fine-tuning with a task that is killed and one that is cancelled,
and tune, each as an array."""
import os
import shutil
import socket
import subprocess
import time

from run import Skip, alone, expect_same, quarkq

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "scancel")
CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
ReturnToService=2
SlurmctldPort={port}
SlurmdPort={next_port}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmdSpoolDir={folder}/spool
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
JobCompType=jobcomp/none
AccountingStorageType=accounting_storage/none
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_ports():
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0)), other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


class Slurm:
    """Daemons in a folder of their own."""

    def __init__(self, folder, variables):
        missing = [name for name in NEEDED if shutil.which(name) is None]
        if missing:
            raise Skip(f"{', '.join(missing)} is not installed (apt install slurm-wlm munge)")
        if os.geteuid() != 0:
            raise Skip("slurmd needs root")
        self.folder, self.daemons = folder, []
        for name in ("spool", "state"):
            os.makedirs(os.path.join(folder, name))
        port, next_port = free_ports()
        path = os.path.join(folder, "slurm.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(host=socket.gethostname().split(".")[0], folder=folder, port=port, next_port=next_port, cores=max(2, os.cpu_count() or 0)))
        self.variables = {**variables, "SLURM_CONF": path}

    def __enter__(self):
        key = os.path.join(self.folder, "munge.key")
        with open(key, "wb") as file:
            file.write(os.urandom(128))
        os.chmod(key, 0o400)
        names = {name: os.path.join(self.folder, f"munge.{name}") for name in ("socket", "pid", "seed", "log")}
        self.start("munged", "--foreground", "--force", f"--socket={names['socket']}", f"--key-file={key}", f"--pid-file={names['pid']}", f"--seed-file={names['seed']}",
                   f"--log-file={names['log']}")
        self.wait_for(lambda: os.path.exists(names["socket"]), "munged")
        self.start("slurmctld", "-D")
        self.start("slurmd", "-D", "-N", socket.gethostname().split(".")[0])
        self.wait_for(lambda: "idle" in self.command("sinfo", "-h", "-o", "%T", check=False), "a node")
        return self

    def __exit__(self, *error):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()

    def start(self, *words):
        self.daemons.append(subprocess.Popen(words, env=self.variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def wait_for(self, condition, name, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise Skip(f"{name} did not start within {seconds} s; Slurm cannot run here")
            time.sleep(0.5)

    def command(self, *words, check=True):
        return subprocess.run(words, env=self.variables, cwd=self.folder_of_jobs, capture_output=True, text=True, check=check).stdout.strip()

    folder_of_jobs = "/"

    def submit(self, script, *options):
        """The number of the job."""
        path = os.path.join(self.folder, f"job{time.monotonic_ns()}.sh")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/bash\n" + script)
        return self.command("sbatch", "--parsable", "--output", os.path.join(self.folder, "job-%A-%a.log"), *options, path)

    def expect_model(self, name, job):
        """Fails with the ends of the logs of the job if there is no such file."""
        if os.path.exists(os.path.join(self.folder_of_jobs, name)):
            return
        logs = []
        for file in sorted(os.listdir(self.folder)):
            if file.startswith(f"job-{job}-"):
                with open(os.path.join(self.folder, file), encoding="utf-8", errors="replace") as log:
                    logs.append(f"{file}: {log.read()[-300:]}")
        raise AssertionError(f"job {job} wrote no {name}; " + " | ".join(logs))

    def running_tasks(self, job, count):
        """Waits until so many tasks of the array run, and returns their numbers."""
        def running():
            return self.command("squeue", "-h", "-r", "-t", "R", "-o", "%i", "-j", job, check=False).split()
        self.wait_for(lambda: len(running()) >= count, f"{count} tasks of an array")
        return running()[:count]

    def finish(self, job, seconds=300):
        end = time.monotonic() + seconds
        while self.command("squeue", "-h", "-j", job, check=False):
            if time.monotonic() > end:
                raise AssertionError(f"job {job} did not end within {seconds} s")
            time.sleep(0.5)


CALIBRATE = 'quarkq calibrate model.onnx --config a8w8 --calib calib --threads 1 -o "stats/part$SLURM_ARRAY_TASK_ID.stats"\n'
FINETUNE = ("quarkq quantize model.onnx --config XINT8_ADAROUND --set FastFinetune.Parallel=true --set FastFinetune.NumIterations=4000 "
            "--set FastFinetune.ClaimSeconds=5 --calib calib --threads 1 --workers-folder work -o finetuned.onnx\n")
TUNE = ("quarkq tune model.onnx --config a8w8 --calib calib --eval val --labels labels.csv --metric top1 --threads 1 --state trials "
        '-o "tuned$SLURM_ARRAY_TASK_ID/model.onnx"\n')


def run(folder, variables):
    with Slurm(os.path.join(folder, "slurm"), variables) as slurm:
        slurm.folder_of_jobs = folder
        alone(folder)
        quarkq(*FINETUNE.replace("quarkq ", "", 1).replace(" --workers-folder work", "").replace("finetuned.onnx", "alone/finetuned.onnx").split(), cwd=folder)
        os.mkdir(os.path.join(folder, "stats"))
        calibrated = slurm.submit(CALIBRATE, "--array=0-7")
        merged = slurm.submit("quarkq merge stats/part*.stats -o all.stats && quarkq quantize model.onnx --config a8w8 --stats all.stats -o quantized.onnx\n",
                              f"--dependency=afterok:{calibrated}")
        slurm.finish(merged)
        expect_same(folder, "quantized.onnx", "alone/quantized.onnx")
        job = slurm.submit(FINETUNE, "--array=0-3")
        killed, cancelled = slurm.running_tasks(job, 2)
        slurm.command("scancel", "--full", "--signal=KILL", killed)
        slurm.command("scancel", cancelled)
        slurm.finish(job)
        slurm.expect_model("finetuned.onnx", job)
        expect_same(folder, "finetuned.onnx", "alone/finetuned.onnx")
        for i in range(3):
            os.mkdir(os.path.join(folder, f"tuned{i}"))
        slurm.finish(slurm.submit(TUNE, "--array=0-2"))
        for i in range(3):
            expect_same(folder, f"tuned{i}/model.onnx", "alone/model.onnx")
    return "8 calibration tasks, 4 of AdaRound with one killed and one cancelled, 3 tuners: the bytes of single processes"
