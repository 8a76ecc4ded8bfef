# SPDX-License-Identifier: MIT
"""One call of the library. It computes on a thread of its own, while the caller's thread answers its questions (a sample, a
metric, a progress report): there generators, other frameworks' tensors and signal handlers belong (docs/adr/0009-python.md)."""
from __future__ import annotations

import ctypes
import json
import queue
import threading
from typing import Any, Callable, Dict, List, Optional

from . import _library as c
from ._arrays import Arrays, Tensor, array_of
from ._errors import error_of
from ._report import Progress, Report, findings_of
from ._samples import Source

OnProgress = Callable[[Progress], Optional[bool]]
Metric = Callable[[int, Arrays, Arrays], float]
OnResult = Callable[[str, Arrays], None]

_OK, _FAILED = 0, 1
_LOOK_SECONDS = 0.2


def _arrays(tensors: List[Tensor]) -> Arrays:
    return {tensor.name: array_of(tensor.type, tensor.dims, bytes(tensor.data)) for tensor in tensors}


class _Question:
    """Something that the library's thread wants from the caller's."""

    def __init__(self, ask: Callable[[], Any]) -> None:
        self.ask = ask
        self.answer: Any = None
        self.done = threading.Lock()
        self.done.acquire()


class Call:
    """Set the members that the verb needs, then run()."""

    def __init__(self, verb: str, request: Dict[str, Any]) -> None:
        self._verb = verb
        self._request = request
        self.model: Optional[bytes] = None
        self.quantized: Optional[bytes] = None
        self.samples: Optional[Source] = None
        self.evaluation: Optional[Source] = None
        self.on_progress: Optional[OnProgress] = None
        self.metric: Optional[Metric] = None
        self.on_result: Optional[OnResult] = None
        self._questions: "queue.SimpleQueue[Optional[_Question]]" = queue.SimpleQueue()
        self._failure: Optional[BaseException] = None
        self._alive: Dict[str, Any] = {}  # what the library points at

    def run(self) -> Report:
        library = c.load()
        arguments = self._arguments()
        results: List[Any] = []
        thread = threading.Thread(target=self._compute, args=(library, arguments, results), name="quarkq", daemon=True)
        thread.start()
        self._serve()
        thread.join()
        result = results[0]
        if not result:
            raise MemoryError("quarkq: no memory for a result")
        try:
            return self._report(library, result)
        finally:
            library.quarkq_free(result)

    def _report(self, library: Any, result: Any) -> Report:
        if self._failure is not None:
            raise self._failure
        code = library.quarkq_exit_code(result)
        if code != 0:
            found = findings_of(json.loads(library.quarkq_findings(result).decode()))
            raise error_of(code, library.quarkq_message(result).decode(errors="replace"), found)
        models = [view(result) for view in (library.quarkq_model, library.quarkq_tail, library.quarkq_joined)]
        in_memory = [ctypes.string_at(model.data, model.size) if model.size else None for model in models]
        return Report(library.quarkq_report(result).decode(), *in_memory)

    def _compute(self, library: Any, arguments: c.CArguments, results: List[Any]) -> None:
        try:
            results.append(library.quarkq_call(ctypes.byref(arguments)))
        finally:
            self._questions.put(None)

    def _serve(self) -> None:
        """Answers until the library is done. What goes wrong here ends the call; a second interrupt does not wait for that."""
        while True:
            try:
                question = self._questions.get()
                if question is None:
                    return
                if self._failure is None:
                    question.answer = question.ask()
                question.done.release()
            except BaseException as error:  # KeyboardInterrupt too: the library must be told to stop
                if self._failure is not None:
                    raise
                self._failure = error

    def _ask(self, ask: Callable[[], Any]) -> Any:
        """From the library's threads. None when the call has failed; answers are something else."""
        if self._failure is not None:
            return None
        question = _Question(ask)
        self._questions.put(question)
        while not question.done.acquire(timeout=_LOOK_SECONDS):
            if self._failure is not None:
                return None
        return question.answer

    def _arguments(self) -> c.CArguments:
        text = json.dumps({key: value for key, value in self._request.items() if value is not None}).encode()
        arguments = c.CArguments(size=ctypes.sizeof(c.CArguments), verb=self._verb.encode(), request=text)
        arguments.model = c.bytes_view(self.model)
        arguments.quantized = c.bytes_view(self.quantized)
        arguments.samples = self._samples("samples", self.samples)
        arguments.evaluation = self._samples("evaluation", self.evaluation)
        arguments.callbacks.on_progress = self._keep("progress", c.ON_PROGRESS(self._progress))
        if self.metric is not None:
            arguments.callbacks.metric = self._keep("metric", c.METRIC(self._measure))
        if self.on_result is not None:
            arguments.callbacks.on_result = self._keep("result", c.ON_RESULT(self._take_result))
        return arguments

    def _keep(self, name: str, value: Any) -> Any:
        self._alive[name] = value
        return value

    def _samples(self, name: str, source: Optional[Source]) -> c.CSamples:
        if source is None:
            return c.CSamples()

        def read(_: Any, index: int, tensors: Any, count: Any) -> int:
            found = source.read(index) if not source.calls_back else self._ask(lambda: source.read(index))
            if found is None:
                return _FAILED
            listed = self._keep("tensors of " + name, c.TensorList(found))
            tensors[0] = listed.items
            count[0] = listed.count
            return _OK

        def guarded(context: Any, index: int, tensors: Any, count: Any) -> int:
            try:
                return read(context, index, tensors, count)
            except BaseException as error:
                self._failure = self._failure or error
                return _FAILED

        return c.CSamples(source.count, self._keep("read " + name, c.READ(guarded)), None)

    def _progress(self, _: Any, given: Any) -> int:
        if self._failure is not None or self.on_progress is None:
            return int(self._failure is None)
        now, report = given[0], self.on_progress
        progress = Progress(now.phase.decode(), now.done, now.total, now.unit.decode(), now.number, now.count)
        return int(self._ask(lambda: report(progress) is not False) is True)

    def _measure(self, _: Any, sample: int, expected: Any, found: Any, count: int, value: Any) -> int:
        metric = self.metric
        assert metric is not None
        exact, coarse = c.tensors_from(expected, count), c.tensors_from(found, count)
        answer = self._ask(lambda: float(metric(sample, _arrays(exact), _arrays(coarse))))
        if answer is None:
            return _FAILED
        value[0] = answer
        return _OK

    def _take_result(self, _: Any, sample: bytes, outputs: Any, count: int) -> int:
        take = self.on_result
        assert take is not None
        tensors, name = c.tensors_from(outputs, count), sample.decode(errors="replace")
        done = self._ask(lambda: (take(name, _arrays(tensors)), True))
        return _FAILED if done is None else _OK
