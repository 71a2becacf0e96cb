"""The configuration that makes the same run as the flags of a snapshot."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookcli.cli.flags.signatures import run_options
from hookcli.errors import RequestError
from hookcli.spec.request import parse_argv

if TYPE_CHECKING:
    from hookcli.cli.flags.options import ModelFlags, RequestFlags
    from hookcli.report.report import Report
    from hookcli.spec.request import Argument


def kept_request(flags: RequestFlags, folder: Path) -> dict[str, Any]:
    """Return `extends`, `model`, `inputs` and `run` for a configuration in that folder.

    Raises
    ------
    RequestError : a configuration cannot express the flags: arguments both by position and by
        name, or another model than the one whose arguments or weights a configuration has.

    """
    document: dict[str, Any] = {}
    if flags.model.config is not None:
        _check_model(flags.model)
        document["extends"] = seen_from(folder, flags.model.config)
    model = _model(flags.model, folder)
    if model:
        document["model"] = model["source"] if list(model) == ["source"] else model
    if flags.model.inputs:
        document["inputs"] = [_input(text, folder) for text in flags.model.inputs]
    run = _run(flags, folder)
    if run:
        document["run"] = run
    return document


def _run(flags: RequestFlags, folder: Path) -> dict[str, Any]:
    """Return `run`, whose keys have the names of the flags."""
    run: dict[str, Any] = {}
    for group in (flags.run, flags.model, flags.limits, flags.cost):
        run |= {name: value for name, _, value in run_options(group)}
    ranks = {key: value for key, value in asdict(flags.ranks).items() if value is not None}
    if ranks:
        run["distributed"] = ranks
    if flags.run.loss is not None:
        run["loss"] = seen_from(folder, flags.run.loss)
    run.pop("targets", None)
    if flags.run.targets:
        run["targets"] = [_input(text, folder) for text in flags.run.targets]
    return run


def with_run(request: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Return the request with the mode and the seed of the run, if it does not set them."""
    if "extends" in request:
        return dict(request)
    mode: dict[str, Any] = {} if report.run.mode == "as-is" else {"mode": report.run.mode}
    run = {**mode, "seed": report.run.seed, **request.get("run", {})}
    return {**request, "run": run}


def _model(flags: ModelFlags, folder: Path) -> dict[str, Any]:
    section: dict[str, Any] = {}
    if flags.model is not None:
        section["source"] = seen_from(folder, flags.model)
    if flags.arg:
        from hookcli.config.constructor_args import parse_arguments

        section["args"] = _arguments(parse_arguments(flags.arg), folder)
    if flags.argv is not None:
        section["argv"] = list(parse_argv(flags.argv, f"--argv {flags.argv}"))
    if flags.weights is not None:
        weights = Path(flags.weights)
        inside = weights.is_dir() and not weights.is_absolute()
        section["weights"] = (
            Path(os.path.relpath(weights, folder)).as_posix()
            if inside
            else seen_from(folder, flags.weights)
        )
    return section


def _arguments(args: tuple[Argument, ...], folder: Path) -> Any:
    positional = [value_from(folder, argument.value) for argument in args if argument.name is None]
    named = {
        argument.name: value_from(folder, argument.value)
        for argument in args
        if argument.name is not None
    }
    if positional and named:
        raise RequestError(
            "a snapshot cannot contain arguments both by position and by name",
            place=" ".join(f"--arg {argument.text}" for argument in args),
            hint="name all of them: `--arg NAME=VALUE`",
        )
    return named or positional


def _input(text: str, folder: Path) -> str:
    """Return the text of an input, with its files relative to the folder."""
    from hookcli.spec.inputs import with_files

    return with_files(text, lambda path: seen_from(folder, path))


def _check_model(flags: ModelFlags) -> None:
    """Refuse a model that would get the arguments or weights of another one."""
    model = flags.model
    if model is None:
        return
    from hookcli.cli.requests import config_of
    from hookcli.config.merge import same_model

    base = config_of(flags).model
    if base is None or not (base.args or base.argv or base.weights):
        return
    if not same_model(model, base.source):
        raise RequestError(
            f"the configuration has arguments or weights for another model: {base.source}",
            place=model,
            hint=f"remove `-c {flags.config}`, or the model",
        )


def seen_from(folder: Path, source: str) -> str:
    """Return `path.py:attr` relative to the folder, as paths in a configuration are.

    An absolute path, and a name that is not a file, are unchanged.
    """
    from hookcli.models.sources.zoo_names import hf_folder, with_folder

    folder_of_model = hf_folder(source)
    if folder_of_model is not None and not Path(source).exists():
        if folder_of_model.is_absolute():
            return source
        return with_folder(source, lambda path: Path(os.path.relpath(path, folder)).as_posix())
    path, colon, attr = (source, "", "") if Path(source).exists() else source.rpartition(":")
    if not Path(path).is_file() or Path(path).is_absolute():
        return source
    return Path(os.path.relpath(path, folder)).as_posix() + colon + attr


def value_from(folder: Path, value: Any) -> Any:
    """Return a constructor argument, with the files of `{call: …}` relative to the folder."""
    if isinstance(value, list):
        return [value_from(folder, item) for item in value]
    if not isinstance(value, dict):
        return value
    mapping = {key: value_from(folder, item) for key, item in value.items()}
    if isinstance(mapping.get("call"), str):
        mapping["call"] = seen_from(folder, mapping["call"])
    return mapping
