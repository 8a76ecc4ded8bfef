#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`quarkq quantize` of 128 photos against plain ONNX Runtime inference of the same 128, and the start-up time, in one run.

    compare_quantize.py [--quarkq BIN] [--config XINT8] [--output FILE.json]

efficientnet_lite0_224, batch 1, same threads; medians of interleaved rounds. Targets: quantize <= 3 x inference, --help <= 20 ms.
Needs: numpy, onnxruntime, pillow, the shared models and photos beside the repository. Run it on an idle machine.
"""
import argparse
import glob
import os
import resource
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnxruntime
from PIL import Image

from compare_ort import ROOT, SHARED, machine, write_report

MODEL = os.path.join(SHARED, "models/efficientnet_lite0_224.onnx")


def make_samples(folder):
    """RGB, (x - 127) / 128, stretched to 224 x 224, as the model's notes say."""
    for path in sorted(glob.glob(os.path.join(SHARED, "data/calib/*")))[:128]:
        image = Image.open(path).convert("RGB").resize((224, 224), Image.BILINEAR)
        array = (np.asarray(image, np.float32) - 127) / 128
        np.save(os.path.join(folder, os.path.splitext(os.path.basename(path))[0] + ".npy"),
                np.ascontiguousarray(array.transpose(2, 0, 1)[None]))


def inference_seconds(samples, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(MODEL, options, providers=["CPUExecutionProvider"])
    session.run(None, {"input": samples[0]})
    start = time.perf_counter()
    for sample in samples:
        session.run(None, {"input": sample})
    return time.perf_counter() - start


def quantize_seconds(binary, config, folder, threads, out):
    command = [binary, "quantize", MODEL, "--config", config, "--calib", folder, "-o", out, "--quiet", "--threads", str(threads)]
    start = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - start


def help_milliseconds(binary):
    times = []
    for _ in range(21):
        start = time.perf_counter()
        subprocess.run([binary, "--help"], check=True, stdout=subprocess.DEVNULL)
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quarkq", default=os.path.join(ROOT, "build/release/quarkq"))
    parser.add_argument("--config", nargs="*", default=["XINT8", "A8W8"])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--output")
    args = parser.parse_args()
    report = {"machine": machine(), "threads": args.threads, "samples": 128}
    with tempfile.TemporaryDirectory() as folder:
        make_samples(folder)
        samples = [np.load(path) for path in sorted(glob.glob(folder + "/*.npy"))]
        plain, ours = [], {config: [] for config in args.config}
        for _ in range(5):
            plain.append(inference_seconds(samples, args.threads))
            for config in args.config:
                ours[config].append(quantize_seconds(args.quarkq, config, folder, args.threads, folder + "/out.onnx"))
    inference = statistics.median(plain)
    report["inference_seconds"] = inference
    print(f"ONNX Runtime inference of 128 samples: {inference:.3f} s")
    for config, times in ours.items():
        seconds = statistics.median(times)
        report[config] = {"seconds": seconds, "ratio": seconds / inference}
        print(f"quarkq quantize {config}: {seconds:.3f} s, {seconds / inference:.2f} x inference (target <= 3)")
    report["peak_rss_mb"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    report["help_ms"] = help_milliseconds(args.quarkq)
    report["load_after"] = os.getloadavg()
    print(f"peak memory of quantize: {report['peak_rss_mb']:.0f} MB")
    print(f"quarkq --help: {report['help_ms']:.1f} ms (target <= 20); load {report['machine']['load'][0]:.2f} before, "
          f"{report['load_after'][0]:.2f} after")
    write_report(args.output, report)


if __name__ == "__main__":
    main()
