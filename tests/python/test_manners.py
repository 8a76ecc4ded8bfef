# SPDX-License-Identifier: MIT
"""Memory, interrupts, time: what a caller must not notice."""
import os
import statistics
import subprocess
import sys
import time

import quarkq

from harness import Skip, expect, expect_equal, temp_folder, test
from samples import noise, write_conv_model

SIDE = 128


def python(code, *arguments, timeout=120):
    """Runs `code` in a process of its own; its output."""
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=timeout, check=False)


PEAK = """
import re, sys, numpy, quarkq
def samples(count):
    rng = numpy.random.default_rng(1)
    for _ in range(count):
        yield rng.normal(0, 1, (1, 3, 128, 128)).astype("float32")
quarkq.quantize(sys.argv[1], sys.argv[2], config="xint8", data=samples(int(sys.argv[3])))
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read()).group(1)) // 1024)  # ru_maxrss begins with the parent's
"""


@test()
def thousand_samples_of_a_generator_in_constant_memory():
    with temp_folder() as folder:
        model = write_conv_model(folder, side=SIDE)
        few, many = (int(python(PEAK, model, os.path.join(folder, "q.onnx"), count).stdout) for count in (100, 1000))
    expect(many <= few + 20, f"{few} MB with 100 samples, {many} MB with 1,000 (of 197 MB)")
    return f"{few} and {many} MB"


INTERRUPT = """
import os, signal, sys, threading, time, numpy, quarkq
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what runs in the background
class Samples:
    def __len__(self): return 1000000
    def __getitem__(self, index): return numpy.zeros((1, 3, 128, 128), "float32")
def interrupt():
    sent.append(time.time())
    os.kill(os.getpid(), signal.SIGINT)
sent, began = [], []
def progress(now):
    if now.phase == "calibrate" and now.done > 3 and not began:
        began.append(True)
        threading.Timer(0.3, interrupt).start()
try:
    quarkq.quantize(sys.argv[1], sys.argv[2], config="xint8", data=Samples(), progress=progress if sys.argv[3] == "1" else None)
except KeyboardInterrupt:
    print("interrupted", os.path.exists(sys.argv[2]), time.time() - sent[0] < 5)
    print("works", quarkq.inspect(sys.argv[1])["nodes"])
"""
TIMER = INTERRUPT.replace("try:\n", "if sys.argv[3] == '0': threading.Timer(2, interrupt).start()\ntry:\n", 1)


@test(cases=["with progress", "without progress"])
def keyboard_interrupt(case):
    with temp_folder() as folder:
        model = write_conv_model(folder, side=SIDE)
        result = python(TIMER, model, os.path.join(folder, "q.onnx"), int(case == "with progress"))
        expect_equal(result.stdout.split(), ["interrupted", "False", "True", "works", "3"], f"said ({result.stderr[-300:]})")


def import_seconds():
    """Processor time, which other processes do not add to; on an idle machine that is what passes."""
    code = "import time; start = time.process_time(); import quarkq; print(time.process_time() - start)"
    return float(python(code).stdout)


@test()
def import_is_quick():
    seconds = min(import_seconds() for _ in range(5))
    expect(seconds <= 0.05, f"import quarkq: {1e3 * seconds:.0f} ms, 50 expected at most")
    expect_equal(python("import sys, quarkq; print('numpy' in sys.modules)").stdout.strip(), "False", "numpy is imported")
    return f"{1e3 * seconds:.0f} ms"


@test()
def iterables_cost_little():
    """Wall time with a list and with a generator beside a folder of the same samples: medians of fifteen turns each, or of 45 where
    fifteen say more than 10 %, because a single turn takes up to a third more or less than another."""
    import numpy as np
    samples = noise(60)
    with temp_folder() as folder:
        model = write_conv_model(folder, side=SIDE, channels=64)
        for i, sample in enumerate(samples):
            os.makedirs(os.path.join(folder, "calib"), exist_ok=True)
            np.save(os.path.join(folder, "calib", f"{i:03}.npy"), sample)
        ways = {"folder": lambda: os.path.join(folder, "calib"), "list": lambda: samples, "generator": lambda: iter(samples)}
        turns = {way: [] for way in ways}
        for rounds in (15, 30):
            for _ in range(rounds):
                for way, data in ways.items():
                    start = time.perf_counter()
                    quarkq.quantize(model, config="xint8", data=data(), verify=False)
                    turns[way].append(time.perf_counter() - start)
            middle = {way: statistics.median(seconds) for way, seconds in turns.items()}
            cost = max(middle["list"], middle["generator"]) / middle["folder"]
            if cost <= 1.1:
                break
    text = ", ".join(f"{way} {seconds:.3f} s" for way, seconds in middle.items()) + f", {len(turns['list'])} turns each"
    if os.getloadavg()[0] > 2 * (os.cpu_count() or 1):
        raise Skip(f"the machine is too busy to tell 10 %: {text}")
    expect(cost <= 1.1, text)
    return text


BUSY = """
import sys, threading, time, quarkq, numpy
turns = []
def count():
    while not done:
        turns.append(time.perf_counter())
        time.sleep(0.005)
done = []
thread = threading.Thread(target=count)
thread.start()
rng = numpy.random.default_rng(1)
start = time.perf_counter()
quarkq.quantize(sys.argv[1], config="xint8", data=[rng.normal(0, 1, (1, 3, 128, 128)).astype("float32") for _ in range(40)], threads=1)
end = time.perf_counter()
done.append(True)
thread.join()
inside = [turn for turn in turns if start < turn < end]
print(len(inside) / ((end - start) / 0.005))
"""


@test()
def other_threads_run_meanwhile():
    """The interpreter lock is released: a thread that wakes every 5 ms does so while quarkq computes."""
    with temp_folder() as folder:
        share = float(python(BUSY, write_conv_model(folder, side=SIDE, channels=64)).stdout)
    expect(share > 0.2, f"the other thread ran in {100 * share:.0f} % of its turns")
