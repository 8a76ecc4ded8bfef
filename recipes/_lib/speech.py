# SPDX-License-Identifier: MIT
"""Speech of a synthesizer (eSpeak NG, from a wheel for Linux on x86-64) and noise, at 16 kHz. No recording is needed."""
import ctypes
import functools
import os
import zipfile

import numpy as np

from . import fetch, media
from .wheels import ESPEAK

RATE = 16000
# Accent and pitch (0 to 99) of each voice. No accent is in two of the lists.
TRAIN_VOICES = tuple(f"{accent}/{pitch}" for accent in ("en-us", "en-gb-x-gbclan") for pitch in (15, 35, 55, 80))
CALIB_VOICES = tuple(f"{accent}/{pitch}" for accent in ("en-gb-x-rp", "en-gb-x-gbcwmd") for pitch in (20, 45, 70))
EVAL_VOICES = tuple(f"{accent}/{pitch}" for accent in ("en", "en-029", "en-gb-scotland", "en-us-nyc") for pitch in (25, 50, 75))
DATA = "speech of eSpeak NG (wheel espeakng-loader), noise made by the script"
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)
RETRIEVAL_SYNCHRONOUS, UTF8, SPEED, PITCH = 2, 1, 1, 3


@functools.cache
def synthesizer():
    """(library, sample rate, pieces that the callback collects). The objects live as long as the process."""
    folder = os.path.join(fetch.CACHE, "files", ESPEAK.name)
    path = fetch.wheel_file(ESPEAK)
    with fetch.alone(), zipfile.ZipFile(path) as archive:
        if not os.path.isdir(folder):
            archive.extractall(folder)
    library, pieces = ctypes.CDLL(os.path.join(folder, "espeakng_loader", "libespeak-ng.so")), []

    def collect(samples, count, _):
        if samples and count > 0:
            pieces.append(np.ctypeslib.as_array(samples, (count,)).astype(np.float32) / 32768)
        return 0
    callback = CALLBACK(collect)
    rate = library.espeak_Initialize(RETRIEVAL_SYNCHRONOUS, 0, os.path.join(folder, "espeakng_loader").encode(), 0)
    library.espeak_SetSynthCallback(callback)
    return library, rate, pieces, callback


def say(text, voice, speed=170):
    """Samples at 16 kHz of the spoken text."""
    library, rate, pieces, _ = synthesizer()
    pieces.clear()
    accent, _, pitch = voice.partition("/")
    if library.espeak_SetVoiceByName(accent.encode()) != 0:
        raise SystemExit(f"eSpeak NG does not have the voice {accent}")
    library.espeak_SetParameter(SPEED, speed, 0)
    library.espeak_SetParameter(PITCH, int(pitch), 0)
    data = text.encode() + b"\0"
    library.espeak_Synth(data, len(data), 0, 1, 0, UTF8, None, None)
    library.espeak_Synchronize()
    spoken = np.concatenate(pieces)
    places = np.arange(int(len(spoken) * RATE / rate)) * (rate / RATE)
    return np.interp(places, np.arange(len(spoken)), spoken).astype(np.float32)


def noise(count, random):
    """Noise whose spectrum falls with frequency, at a mean square of 1."""
    spectrum = np.fft.rfft(random.normal(0, 1, count)) / (1 + np.arange(count // 2 + 1) / (count / 40)) ** random.uniform(0, 1)
    values = np.fft.irfft(spectrum, count)
    return (values / values.std()).astype(np.float32)


def scene(voice, seconds, random):
    """(samples, mask of the samples that are speech): sentences with pauses between them, and noise of 5 to 30 dB below the speech."""
    count = int(seconds * RATE)
    audio, is_speech, place = np.zeros(count, np.float32), np.zeros(count, bool), int(random.uniform(0.2, 1.2) * RATE)
    while place < count:
        spoken = say(media.words(random, int(random.integers(2, 6))), voice, int(random.integers(140, 200)))
        loud = np.flatnonzero(np.abs(spoken) > 0.01)
        spoken = spoken[loud[0]:loud[-1] + 1][:count - place]
        audio[place:place + len(spoken)] = spoken
        is_speech[place:place + len(spoken)] = True
        place += len(spoken) + int(random.uniform(0.5, 1.5) * RATE)
    level = np.sqrt((audio[is_speech] ** 2).mean()) if is_speech.any() else 0.1
    audio += noise(count, random) * level * 10 ** (-random.uniform(5, 30) / 20)
    return (audio * random.uniform(0.3, 1.0) / max(1.0, np.abs(audio).max())).astype(np.float32), is_speech
