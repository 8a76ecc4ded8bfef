# SPDX-License-Identifier: MIT
"""Noisy speech for gtcrn_stream: clean recordings of ../shared/data with noise of a fixed seed, as frames with the caches of the float
model, and SI-SNR of what a model makes of them against the clean speech."""
import os
import wave

import numpy as np

SIZE, HOP = 512, 256
WINDOW = np.sqrt(np.hanning(SIZE + 1)[:SIZE]).astype(np.float32)
CACHES = {"conv_cache": (2, 1, 16, 16, 33), "tra_cache": (2, 3, 1, 1, 16), "inter_cache": (2, 1, 33, 16)}
SNR_DB = 5


def recording(path):
    with wave.open(path) as file:
        return np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(np.float32) / 32768


def noisy(clean, seed):
    """Noise whose power falls with the frequency, SNR_DB below the speech."""
    spectrum = np.fft.rfft(np.random.default_rng(seed).standard_normal(len(clean)))
    noise = np.fft.irfft(spectrum / np.sqrt(1 + np.arange(len(spectrum)) / 500), len(clean))
    return (clean + noise * np.sqrt((clean**2).mean() / (noise**2).mean() / 10**(SNR_DB / 10))).astype(np.float32)


def frames(signal):
    """[1, 257, 1, 2]: real and imaginary parts of each frame."""
    for start in range(0, len(signal) - SIZE + 1, HOP):
        spectrum = np.fft.rfft(signal[start:start + SIZE] * WINDOW)
        yield np.stack([spectrum.real, spectrum.imag], -1).astype(np.float32)[None, :, None]


def signal_of(spectra):
    signal = np.zeros((len(spectra) - 1) * HOP + SIZE, np.float32)
    for number, spectrum in enumerate(spectra):
        part = np.fft.irfft(spectrum.reshape(257, 2) @ np.array([1, 1j])).astype(np.float32)
        signal[number * HOP:number * HOP + SIZE] += part * WINDOW
    return signal


def si_snr(signal, clean):
    """Scale-invariant signal-to-noise ratio in dB."""
    signal, clean = (np.asarray(one[:min(len(signal), len(clean))], np.float64) for one in (signal, clean))
    signal, clean = signal - signal.mean(), clean - clean.mean()
    target = clean * (signal @ clean) / (clean @ clean)
    return float(10 * np.log10((target**2).sum() / ((signal - target)**2).sum()))


def stream(model, mix):
    """Yields what the model reads and what it makes of it, frame by frame."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    state = {name: np.zeros(shape, np.float32) for name, shape in CACHES.items()}
    for frame in frames(mix):
        feeds = {"mix": frame, **state}
        made = dict(zip(names, session.run(names, feeds)))
        yield feeds, made["enh"]
        state = {name: made[name + "_out"] for name in CACHES}


def write_samples(model, wav, folder, every=1, seed=1):
    """One sample per frame, below a folder per input."""
    for number, (feeds, _) in enumerate(stream(model, noisy(recording(wav), seed))):
        if number % every:
            continue
        for name, value in feeds.items():
            os.makedirs(os.path.join(folder, name), exist_ok=True)
            np.save(os.path.join(folder, name, f"{number:04d}.npy"), value)


def streamed(model, wav, seed=1):
    """SI-SNR with the model's own caches fed back."""
    clean = recording(wav)
    return si_snr(signal_of([enhanced for _, enhanced in stream(model, noisy(clean, seed))]), clean)
