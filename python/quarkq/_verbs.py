# SPDX-License-Identifier: MIT
"""The verbs of the program as functions. What an argument means is what the option of the same name means (docs/python.md)."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union, overload

if TYPE_CHECKING:  # the first call imports what it needs, so that `import quarkq` is quick
    from ._arrays import Arrays
    from ._call import Metric, OnProgress
    from ._report import Report

Path = Union[str, "os.PathLike[str]"]
#: A file, a serialized model, or an onnx.ModelProto (whatever has SerializeToString).
Model = Any
#: A folder or a single file as the program takes it, or an iterable of arrays or of dicts of arrays by input name.
Data = Any
#: A preset, a settings file, or what such a file holds.
Config = Union[Path, Mapping[str, Any]]
#: "key=value" texts as `--set` takes them, or a mapping.
Settings = Union[Mapping[str, Any], Sequence[str]]
#: Shapes of inputs by name.
Shapes = Mapping[str, Sequence[int]]
#: The name of a recipe for folders of photos, or a function for what the iterable gives.
Preprocess = Union[str, Callable[[Any], Any]]


def _without_libraries(config: Mapping[str, Any]) -> Tuple[Mapping[str, Any], List[str]]:
    """Settings files may not name code to run (SECURITY.md); a caller's own values may, and pass beside the file."""
    options = config.get("extra_options")
    if not isinstance(options, Mapping) or options.get("UserCustomOpLibPath") is None:
        return config, []
    rest = {key: value for key, value in options.items() if key != "UserCustomOpLibPath"}
    return {**config, "extra_options": rest}, [f"UserCustomOpLibPath={_value(options['UserCustomOpLibPath'])}"]


class _Job:
    """The request of one verb while it is put together."""

    def __init__(self, verb: str, **request: Any) -> None:
        from ._call import Call

        self.request: Dict[str, Any] = request
        self.call = Call(verb, self.request)
        self._closers: List[Callable[[], None]] = []

    def __enter__(self) -> _Job:
        return self

    def __exit__(self, *error: object) -> None:
        for close in reversed(self._closers):
            close()

    def take_model(self, model: Model, key: str = "model", member: str = "model") -> None:
        name, content = _model(model)
        self.request[key] = name
        setattr(self.call, member, content)

    def take_config(self, config: Optional[Config], settings: Optional[Settings], preprocess: Optional[Preprocess],
                    target: Optional[Path] = None, shapes: Optional[Shapes] = None) -> None:
        own: List[str] = []
        if isinstance(config, Mapping):
            config, own = _without_libraries(config)
            config = self._write_config(config)
        lines = own + _settings(settings)
        if shapes:
            lines.append(f"--shape={_value({name: list(dims) for name, dims in shapes.items()})}")
        if target is not None:
            lines.append(f"--target={_value(os.fspath(target))}")
        if isinstance(preprocess, str):
            lines.append(f"--preprocess={preprocess}")
        self.request.update(config=os.fspath(config) if config is not None else None, settings=lines)

    def _new_folder(self) -> str:
        """A folder until the call is over."""
        import tempfile

        folder = tempfile.TemporaryDirectory(prefix="quarkq-")
        self._closers.append(folder.cleanup)
        return folder.name

    def _write_config(self, values: Mapping[str, Any]) -> str:
        import json

        path = os.path.join(self._new_folder(), "config.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(dict(values), file)
        return path

    def take_data(self, data: Data, key: str, member: Optional[str], preprocess: Optional[Preprocess]) -> None:
        """member: where the call takes samples in memory; None for verbs that read folders only, which get a temporary one."""
        if data is None:
            return
        if isinstance(data, (str, os.PathLike)):
            if callable(preprocess):
                raise TypeError(f"preprocess: a function takes the samples of an iterable; {os.fspath(data)} is a folder, for which "
                                "it is the name of a recipe (quarkq list recipes)")
            self.request[key] = os.fspath(data)
            return
        from ._samples import open_source, write_folder

        source = open_source(data, preprocess if callable(preprocess) else None)
        self._closers.append(source.close)
        if member is not None:
            setattr(self.call, member, source)
        else:
            self.request[key] = self._new_folder()
            write_folder(source, self.request[key])

    def run(self) -> Report:
        return self.call.run()


def _model(model: Model) -> Tuple[str, Optional[bytes]]:
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model), None
    if isinstance(model, (bytes, bytearray, memoryview)):
        return "model in memory", bytes(model)
    if hasattr(model, "SerializeToString"):
        return "model in memory", bytes(model.SerializeToString())
    raise TypeError(f"model: found {type(model).__name__}, allowed are a path, bytes and onnx.ModelProto")


def _value(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value)


def _settings(settings: Optional[Settings]) -> List[str]:
    if settings is None:
        return []
    if isinstance(settings, str):
        raise TypeError("settings: found a text, allowed are a mapping and a list of key=value texts")
    if isinstance(settings, Mapping):
        return [f"{key}={_value(value)}" for key, value in settings.items()]
    return list(settings)


def _output(output: Optional[Path]) -> Optional[str]:
    return None if output is None else os.fspath(output)


def version() -> str:
    """Version of the library."""
    from . import _library

    return _library.version()


def quantize(
    model: Model, output: Optional[Path] = None, *, config: Optional[Config] = None, data: Data = None, preprocess: Optional[Preprocess] = None,
    settings: Optional[Settings] = None, stats: Optional[Path] = None, eval_data: Data = None, require: Sequence[str] = (),
    metric: Optional[Metric] = None, progress: Optional[OnProgress] = None, threads: int = 0, verify: bool = True,
    details: bool = False, resume: bool = True, compat: Optional[str] = None, target: Optional[Path] = None,
    shapes: Optional[Shapes] = None, workers_folder: Optional[Path] = None, joined: Optional[Path] = None,
) -> Report:
    """Quantizes `model` into the file `output`; without one into `Report.model`. If the model is cut (docs/targets.md), the float
    model with its last nodes is the file `<output>_tail.onnx`, otherwise `Report.tail`; both as one model are `Report.joined`.

    model: a path, the serialized bytes, or an onnx.ModelProto.
    config: a preset ("xint8"), a settings file, or a dict with what such a file holds. settings: single settings over it, as a dict
    or as a list of "key=value" texts.
    data: the calibration samples: a folder, or an iterable of samples. A sample is an array, or a dict of arrays by input name.
    eval_data: samples of the same kinds to compare the result with the float model on; the calibration samples if absent.
    preprocess: a function from what the iterable yields to a sample, or the name of a recipe for a folder of photos.
    stats: a file of calibrate() or merge() instead of data.
    target: the NPU compiler that the model is rewritten for (docs/targets.md), with a preset of its own where `config` is absent; the
    target of the preset if absent, "none" for no target.
    shapes: of inputs with symbolic dimensions, by name.
    joined: with `output`, the file for a cut model and its tail as one model.
    workers_folder: shared by processes that fine-tune the layers together (docs/scaling.md).
    metric: called as metric(sample number, float outputs, quantized outputs) for each sample that is compared, outputs as dicts of
    arrays; higher is better. Its mean is `Report.metric`, and `require=["metric>=0.9"]` makes it a gate, as "cos>=0.99" does for
    the cosine and "deployable" for the target. progress: called with a Progress; returning False ends the call with Interrupted.
    """
    with _Job("quantize", output=_output(output), in_memory=output is None, require=list(require), threads=threads, verify=verify,
              details=details, resume=resume, stats=_output(stats), joined=_output(joined)) as job:
        if workers_folder is not None:
            job.request["workers_folder"] = os.fspath(workers_folder)
        job.take_model(model)
        job.take_config(config, settings, preprocess, target, shapes)
        if compat is not None:
            job.request["settings"].append(f"quarkq.compat={compat}")
        job.take_data(data, "calib", "samples", preprocess)
        job.take_data(eval_data, "eval", "evaluation", preprocess)
        job.call.metric = metric
        job.call.on_progress = progress
        return job.run()


def calibrate(
    model: Model, output: Path, *, config: Optional[Config] = None, data: Data, preprocess: Optional[Preprocess] = None,
    settings: Optional[Settings] = None, shard: Tuple[int, int] = (0, 1), progress: Optional[OnProgress] = None, threads: int = 0,
    target: Optional[Path] = None, shapes: Optional[Shapes] = None,
) -> Report:
    """Writes the statistics of the samples in `data` to `output`, for `quantize(stats=...)`. `config`, `data`, `preprocess` and
    `settings` are those of quantize(). shard=(i, n) takes sample number k if k mod n is i."""
    with _Job("calibrate", output=os.fspath(output), shard_index=shard[0], shard_count=shard[1], threads=threads) as job:
        job.take_model(model)
        job.take_config(config, settings, preprocess, target, shapes)
        job.take_data(data, "calib", "samples", preprocess)
        job.call.on_progress = progress
        return job.run()


def merge(parts: Iterable[Path], output: Path, *, allow_other_isa: bool = False) -> Report:
    """Merges the statistics of shards into one file, for `quantize(stats=...)`."""
    with _Job("merge", parts=[os.fspath(part) for part in parts], output=os.fspath(output), allow_other_isa=allow_other_isa) as job:
        return job.run()


def optimize(
    model: Path, output: Path, *, config: Optional[Config] = None, data: Data = None, settings: Optional[Settings] = None,
    only: Sequence[str] = (), skip: Sequence[str] = (), threads: int = 0,
    target: Optional[Path] = None, shapes: Optional[Shapes] = None,
) -> Report:
    """Applies only the changes that quantize() makes to the float model. `data` (for passes that compare or measure) and `config` are
    those of quantize(); only, skip: names of passes (`quarkq list passes`)."""
    with _Job("optimize", model=os.fspath(model), output=os.fspath(output), only=list(only), skip=list(skip), threads=threads) as job:
        job.take_config(config, settings, None, target, shapes)
        job.take_data(data, "calib", None, None)
        return job.run()


def convert(
    model: Optional[Model] = None, output: Optional[Path] = None, passes: Union[Path, Sequence[str]] = (), *, strict: bool = False,
    external_data: bool = False, in_memory: bool = False, threads: int = 0,
) -> Report:
    """Conversions of a finished model, in this order: texts as `quarkq convert --pass` takes them, or a list in the reference's form (a
    file, a template or JSON text), which may name model and output. in_memory: the result is `Report.model`."""
    steps = {"pass_list": os.fspath(passes)} if isinstance(passes, (str, os.PathLike)) else {"passes": list(passes)}
    with _Job("convert", output=_output(output), in_memory=in_memory, strict=strict, external_data=external_data, threads=threads,
              **steps) as job:
        if model is not None:
            job.take_model(model)
        return job.run()


def analyze(
    model: Model, *, config: Optional[Config] = None, data: Data, preprocess: Optional[Preprocess] = None, settings: Optional[Settings] = None,
    one_float: bool = False, samples: int = 4, min_cosine: float = 0, most_left_out: int = 10,
    progress: Optional[OnProgress] = None, threads: int = 0,
    target: Optional[Path] = None, shapes: Optional[Shapes] = None,
) -> Report:
    """Finds the layers that cost the outputs most. `config`, `data`, `preprocess` and `settings` are those of quantize().

    samples: how many of `data` are compared. one_float: each layer alone stays float, instead of each alone quantized.
    """
    with _Job("analyze", one_float=one_float, samples=samples, min_cosine=min_cosine, most_left_out=most_left_out,
              threads=threads) as job:
        job.take_model(model)
        job.take_config(config, settings, preprocess, target, shapes)
        job.take_data(data, "calib", "samples", preprocess)
        job.call.on_progress = progress
        return job.run()


def score(
    results: Model, data: Data = None, *, metric: Union[str, Sequence[str], Metric] = (), labels: Optional[Path] = None, metric_cmd: str = "",
    head: str = "", scores: Optional[str] = None, classes: Optional[Path] = None, alphabet: Optional[Path] = None,
    baseline: Optional[Model] = None, preprocess: Optional[Preprocess] = None,
    config: Optional[Config] = None, settings: Optional[Settings] = None, limit: int = 0,
    progress: Optional[OnProgress] = None, threads: int = 0, confidence: float = 0.95,
) -> Report:
    """Computes metrics of a model over the samples of `data`, or of a folder of results; with a baseline also those of that side.

    results: a model, or a folder that run() wrote. data: a folder or an iterable of samples, as in quantize(). preprocess: a recipe for
    photos or a function. config, settings: what else reading the samples needs. metric: names (`quarkq list metrics`), or a function of
    your own, which is called as that of quantize() and needs two models. scores: the output that is scored. confidence: of the intervals.
    """
    with _Job("score", limit=limit, threads=threads, confidence=confidence,
              **_metric("" if callable(metric) else metric, labels, metric_cmd, head, scores, classes, alphabet)) as job:
        job.call.metric = metric if callable(metric) else None
        job.take_model(results, "results", "quantized")
        if baseline is not None:
            job.take_model(baseline, "baseline", "model")
        job.take_config(config, settings, preprocess)
        job.take_data(data, "data", "samples", preprocess)
        job.call.on_progress = progress
        return job.run()


def tune(
    model: Path, output: Path, *, config: Optional[Config] = None, data: Data, eval_data: Data, metric: Union[str, Metric] = "",
    labels: Optional[Path] = None, metric_cmd: str = "", lower_is_better: bool = False, head: str = "", scores: Optional[str] = None,
    classes: Optional[Path] = None, alphabet: Optional[Path] = None, goal: str = "",
    seconds: float = 0, state: Optional[Path] = None, preprocess: Optional[Preprocess] = None, settings: Optional[Settings] = None,
    limit: int = 0, progress: Optional[OnProgress] = None, threads: int = 0,
    target: Optional[Path] = None, shapes: Optional[Shapes] = None, search: Optional[Path] = None, goal_confidence: float = 0,
) -> Report:
    """Tries settings until a metric meets a goal ("drop<=0.5%", "value>=0.8"); the best model is written to `output`. A goal that is
    missed does not raise: see `Report["met"]`.

    data: the calibration samples; eval_data: other samples, which the metric is computed on. Both are folders or iterables, as in
    quantize(); samples of an iterable are copied to a temporary folder, and sample k is named as a six-digit number (000000, ...) in
    `labels`. preprocess: a recipe for photos or a function. config: the settings of the first trial.
    metric: a name (`quarkq list metrics`) or a function, called as that of quantize(); its mean over the samples counts.
    search: a file of AutoSearchPro or AutoSearch, which specifies what is tried (docs/tune.md). goal_confidence: 0.95 requires that the
    end of the 95 % interval meets the goal, instead of the value.
    """
    with _Job("tune", model=os.fspath(model), output=os.fspath(output), goal=goal, seconds=seconds, limit=limit,
              state=_output(state), search=_output(search), lower_is_better=lower_is_better, threads=threads,
              goal_confidence=goal_confidence,
              **_metric("" if callable(metric) else metric, labels, metric_cmd, head, scores, classes, alphabet)) as job:
        job.call.metric = metric if callable(metric) else None
        job.take_config(config, settings, preprocess, target, shapes)
        job.take_data(data, "calib", None, preprocess)
        job.take_data(eval_data, "eval", None, preprocess)
        job.call.on_progress = progress
        return job.run()


def _metric(metric: Union[str, Sequence[str]], labels: Optional[Path], command: str, head: str, scores: Optional[str],
            classes: Optional[Path], alphabet: Optional[Path]) -> Dict[str, Any]:
    names = [metric] if isinstance(metric, str) else list(metric)
    return {"metric": [name for name in names if name], "labels": _output(labels), "metric_cmd": command, "head": head,
            "output_name": scores, "classes": _output(classes), "alphabet": _output(alphabet)}


def check(
    model: Model, target: Path = "xint8", *, min_npu: float = 0, max_partitions: int = -1,
    ep_report: Union[Path, Sequence[Path], None] = None, learn: Optional[Path] = None, device: str = "", driver: str = "",
    compiler: str = "",
) -> Report:
    """Looks up the limits of an NPU in a quantized model; `Report["violations"]` lists those that do not hold.

    With the name or file of another target: what of a float or quantized model would run there. min_npu (0 to 1) and
    max_partitions are goals; `Report["missed_goals"]` lists those that are missed.

    With ep_report, the files that a compiler wrote: what of the model ran, and what differs from the prediction. The
    goals then apply to what ran, and without a target the compiler is the one for the type of the model. learn writes
    the facts that were seen as a target file; device, driver and compiler are recorded in it.
    """
    goals: Dict[str, Any] = {}
    if min_npu or max_partitions >= 0:
        goals = {"min_npu": min_npu, "max_partitions": max_partitions}
    if ep_report is not None:
        files = [ep_report] if isinstance(ep_report, (str, os.PathLike)) else ep_report
        goals["ep_report"] = [os.fspath(file) for file in files]
    seen = {"learn": _output(learn), "device": device, "driver": driver, "compiler": compiler}
    goals.update({name: value for name, value in seen.items() if value})
    with _Job("check", target=os.fspath(target), **goals) as job:
        job.take_model(model)
        return job.run()


def inspect(model: Model, *, nodes: bool = False, scales: bool = False) -> Report:
    """What the model is, what is quantized and how."""
    with _Job("inspect", nodes=nodes, scales=scales) as job:
        job.take_model(model)
        return job.run()


def evaluate(
    baseline: Model, quantized: Model, data: Data = None, *, labels: Optional[Path] = None, top: Sequence[int] = (),
    scores: Optional[str] = None, preprocess: Optional[Preprocess] = None, config: Optional[Config] = None,
    settings: Optional[Settings] = None, limit: int = 0, layers: bool = False, compat: bool = False,
    progress: Optional[OnProgress] = None, threads: int = 0, confidence: float = 0.95,
) -> Report:
    """Compares two models over the samples of `data`; without `data` two folders of results.

    data: a folder or an iterable of samples, as in quantize(). preprocess: a recipe for photos or a function. config, settings: what else
    reading the samples needs. scores: the output that `labels` apply to. confidence: of all intervals.
    """
    shared = {"labels": _output(labels), "top": list(top), "output": scores, "threads": threads, "confidence": confidence}
    if data is None:
        folders = {"baseline_results_folder": os.fspath(baseline), "quantized_results_folder": os.fspath(quantized)}
        with _Job("evaluate", compat=compat, **folders, **shared) as job:
            job.call.on_progress = progress
            return job.run()
    with _Job("evaluate", limit=limit, layers=layers, **shared) as job:
        job.take_model(baseline, "float", "model")
        job.take_model(quantized, "quantized", "quantized")
        job.take_config(config, settings, preprocess)
        job.take_data(data, "data", "samples", preprocess)
        job.call.on_progress = progress
        return job.run()


@overload
def run(model: Model, data: Data, outputs: None = None, *, preprocess: Optional[Preprocess] = None, config: Optional[Config] = None,
        settings: Optional[Settings] = None, limit: int = 0, progress: Optional[OnProgress] = None,
        threads: int = 0) -> List[Arrays]: ...


@overload
def run(model: Model, data: Data, outputs: Union[Path, Callable[[str, Arrays], None]], *, preprocess: Optional[Preprocess] = None,
        config: Optional[Config] = None, settings: Optional[Settings] = None, limit: int = 0,
        progress: Optional[OnProgress] = None, threads: int = 0) -> Report: ...


def run(
    model: Model, data: Data, outputs: Union[None, Path, Callable[[str, Arrays], None]] = None, *,
    preprocess: Optional[Preprocess] = None, config: Optional[Config] = None, settings: Optional[Settings] = None, limit: int = 0,
    progress: Optional[OnProgress] = None, threads: int = 0,
) -> Union[Report, List[Arrays]]:
    """Runs a float or quantized model over the samples of `data`: a folder or an iterable, as in quantize(). preprocess: a recipe for
    photos or a function. config, settings: what else reading the samples needs. outputs: a folder for .npy files, or a function that is called with the name of each sample
    and its results; without it the results of all samples are returned, as dicts of arrays by output name. A batch of N rows for a model that
    takes one row is N samples."""
    results: List[Arrays] = []
    with _Job("run", limit=limit, threads=threads) as job:
        job.take_model(model)
        job.take_config(config, settings, preprocess)
        job.take_data(data, "inputs", "samples", preprocess)
        job.call.on_progress = progress
        if outputs is None:
            job.call.on_result = lambda _, arrays: results.append(arrays)
        elif callable(outputs):
            job.call.on_result = outputs
        else:
            job.request["outputs"] = os.fspath(outputs)
        report = job.run()
    return results if outputs is None else report
