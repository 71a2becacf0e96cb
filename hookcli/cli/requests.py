"""Flags and a configuration → what to run, how to show it, and what counts as a failure."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hookcli.cli.flag_values import (
    counted,
    parse_device,
    parse_dtype,
    parse_loss,
    positive,
    view_of,
)
from hookcli.cli.input_files import files_read
from hookcli.cli.output import Target, check_stream, parse_targets
from hookcli.config.config import Config
from hookcli.config.constructor_args import parse_arguments
from hookcli.config.merge import Flags, spec_of
from hookcli.console import Console
from hookcli.errors import RequestError
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.models.sources.parse import check_opening, code_in, parse_source
from hookcli.rules.verdict import FailOn
from hookcli.spec.inputs import parse_inputs
from hookcli.spec.request import Command, Spec


@dataclass(frozen=True, slots=True)
class Request:
    """One command line, checked as far as that needs no torch."""

    spec: Spec
    targets: tuple[Target, ...]
    view: View
    fail_on: FailOn


def request_of(command: Command, given: Mapping[str, Any], console: Console) -> Request:
    """What a command's parameters ask for, by their names.

    Raises
    ------
    RequestError : it cannot be. Of a configuration all problems are said at once.

    """
    config = config_of(given)
    spec = spec_of(command, config, _flags(given))
    more = (given.get("baseline"), given.get("against"))
    read = [*files_read(spec, given["config"]), *(name for name in more if name)]
    targets = parse_targets(given["formats"], given["output"], read=read)
    check_stream(spec.stream, targets, read)
    view = view_of(command, given, console)
    check_opening(parse_source(spec.model.source), spec.model)
    _check_gradients(spec, given["config"])
    timed = [target.format for target in targets if FORMATS[target.format].needs_timings]
    if timed:
        asked = given.get("tensors") is not None or "tensors" in config.run
        spec = _timed(spec, timed[0], asked=asked)
    level = given["fail_on"] or config.fail_on or ("error" if command == "check" else "never")
    return Request(spec, targets, view, level)


def config_of(given: Mapping[str, Any]) -> Config:
    """What the configuration says that a command's parameters name; nothing without one.

    Raises
    ------
    RequestError, ProblemsError : it is wrong, or --data-only refuses what it says.
    """
    path = given["config"]
    if path is None:
        return Config()
    from hookcli.config.load import read_config  # pydantic is for those who have a file

    if not given.get("data_only"):
        return read_config(path)
    named_here, trusted = given["model"] is not None, bool(given.get("trust"))
    return read_config(
        path, code=lambda source: None if named_here else code_in(source, trusted=trusted)
    )


def _flags(given: Mapping[str, Any]) -> Flags:
    return Flags(
        model=given["model"],
        args=parse_arguments(tuple(given["arg"] or ())) or None,
        weights=given["weights"],
        trust=bool(given.get("trust")),
        data_only=bool(given.get("data_only")),
        inputs=parse_inputs(tuple(given["inputs"] or ())) or None,
        batch_size=counted(given["batch_size"], "--batch-size"),
        device=parse_device(given["device"]),
        dtype=parse_dtype(given["dtype"]),
        tensors=given.get("tensors"),
        mode=given["mode"],
        seed=given["seed"],
        loss=parse_loss(given.get("loss")),
        steps=counted(given.get("steps"), "--steps"),
        no_grad=given["no_grad"],
        timeout=positive(given["timeout"], "--timeout"),
        max_memory=positive(given["max_memory"], "--max-memory"),
        flops=given.get("flops"),
        verify_neutral=given.get("verify_neutral"),
        kinds=given.get("kinds"),
        stream=given.get("stream"),
        nproc=given.get("nproc"),
        parallel=given.get("parallel"),
    )


def _timed(spec: Spec, form: str, *, asked: bool) -> Spec:
    """The request with timings; real tensors unless others were asked for: fake ones take none."""
    if spec.command == "inspect":
        raise RequestError(
            "a timeline shows events, and inspect has none",
            place=f"-f {form}",
            hint=f"write hookcli trace {spec.model.source} -f {form}=trace.json",
        )
    run = spec.run if asked else dataclasses.replace(spec.run, tensors="real")
    return dataclasses.replace(spec, run=run, timings=True)


def _check_gradients(spec: Spec, config: str | None) -> None:
    if spec.command == "grads" and not spec.run.grad:
        raise RequestError(
            "without autograd there are no gradients",
            place="--no-grad" if config is None else f"--no-grad, or run.grad in {config}",
            hint="leave it out, or see the forward alone with hookcli inspect",
        )
