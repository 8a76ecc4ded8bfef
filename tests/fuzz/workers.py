# SPDX-License-Identifier: MIT
"""Calls a function for many numbers in a process of its own, so that one that dies or does not end is a finding and not the end."""
import json
import os
import resource
import select
import signal
import time

BATCH = 2000  # numbers of one process: what it leaks is bounded


class Died(Exception):
    """The process did not survive a number; the text says how."""


def limit_memory(most):
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def work(function, numbers, out, memory):
    """In the child: one line "NUMBER" before each call, one "NUMBER RESULT" after it."""
    limit_memory(memory)
    for number in numbers:
        out.write(f"{number}\n")
        out.flush()
        out.write(f"{number} {json.dumps(function(number))}\n")
        out.flush()


def start(function, numbers, memory):
    """(process id, file of its lines)"""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    os.close(reader)
    status = 1
    try:
        with os.fdopen(writer, "w") as out:
            work(function, numbers, out, memory)
        status = 0
    except BaseException as error:  # the parent gets the text; a traceback of a child is nobody's
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(status)


def cpu_seconds_of(child):
    """What a process has used so far."""
    with open(f"/proc/{child}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def lines_of(child, reader, seconds):
    """The lines of a child, and None when it has computed for so long without one, or has been silent for ten times as long: on a busy
    machine a process waits for its share."""
    rest, used, heard = b"", 0.0, time.monotonic()
    while True:
        ready, _, _ = select.select([reader], [], [], seconds / 4)
        if not ready:
            if cpu_seconds_of(child) - used > seconds or time.monotonic() - heard > 10 * seconds:
                yield None
                return
            continue
        part = os.read(reader, 1 << 16)
        if not part:
            return
        used, heard = cpu_seconds_of(child), time.monotonic()
        *lines, rest = (rest + part).split(b"\n")
        yield from (line.decode() for line in lines)


def run_batch(function, numbers, seconds, memory):
    """(number, result) of each; of one that was not survived (number, Died), which is the last."""
    child, reader = start(function, numbers, memory)
    begun, hung = None, False
    try:
        for line in lines_of(child, reader, seconds):
            if line is None:
                hung = True
                os.kill(child, signal.SIGKILL)
                break
            number, _, result = line.partition(" ")
            begun = None if result else int(number)
            if result:
                yield int(number), json.loads(result)
    finally:
        os.close(reader)
        _, status = os.waitpid(child, 0)
    if begun is not None:
        code = os.waitstatus_to_exitcode(status)
        yield begun, Died(f"took longer than {seconds} s" if hung else f"signal {-code}" if code < 0 else f"the process ended with {code}")


def run_numbers(function, numbers, seconds=20, memory=6 << 30):
    """(number, result or Died) for each of the numbers, a list, in order."""
    at = 0
    while at < len(numbers):
        batch = numbers[at:at + BATCH]
        done = 0
        for number, result in run_batch(function, batch, seconds, memory):
            done = batch.index(number, done) + 1
            yield number, result
        if done == 0:
            raise RuntimeError("the process of the first number did not begin")
        at += done


def cpu_seconds():
    """Of this process and the children that have ended."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
