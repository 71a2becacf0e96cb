"""The files that a run reads. None of them may be an output file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hookcli.catalogue.actions import CATALOGUE as ACTIONS
from hookcli.models.sources.zoo_names import hf_folder
from hookcli.spec.hooks import FunctionRef
from hookcli.spec.inputs import DictSpec, FileSpec, FunctionSpec, ListSpec, Spec as Input, TupleSpec
from hookcli.spec.request import Spec


def files_read(spec: Spec, config: str | None) -> list[str]:
    """Return the names of the files that a request reads; names of modules may be among them."""
    return [name for name in (config, *_named(spec)) if name]


def _named(spec: Spec) -> Iterator[str]:
    yield from _with_source(spec.model.source)
    yield spec.model.weights or ""
    yield from spec.libraries
    yield from _with_source(spec.run.loss)
    for argument in spec.model.args:
        yield from _called(argument.value)
    for input_spec in (*spec.inputs, *spec.run.targets):
        yield from _input(input_spec.spec)
    for hook in spec.hooks:
        for action in hook.actions:
            yield from _argument(action.name, action.argument)


def _input(spec: Input) -> Iterator[str]:
    if isinstance(spec, FileSpec):
        yield spec.path
    elif isinstance(spec, FunctionSpec):
        yield spec.source
    elif isinstance(spec, ListSpec | TupleSpec):
        for item in spec.items:
            yield from _input(item)
    elif isinstance(spec, DictSpec):
        for _, item in spec.items:
            yield from _input(item)


def _with_source(text: str) -> Iterator[str]:
    """Yield `file.py:name` as it is, and its file; for `hf:FOLDER` its configuration."""
    folder = hf_folder(text)
    if folder is not None:
        yield (folder / "config.json").as_posix()
    yield text
    yield text.rpartition(":")[0]


def _called(value: Any) -> Iterator[str]:
    """Yield the files of the functions that constructor arguments call."""
    if isinstance(value, dict):
        if isinstance(value.get("call"), str):
            yield from _with_source(value["call"])
        for item in value.values():
            yield from _called(item)
    elif isinstance(value, list):
        for item in value:
            yield from _called(item)


def _argument(action: str, argument: Any) -> Iterator[str]:
    if isinstance(argument, FunctionRef):
        yield from _with_source(argument.function)
    elif isinstance(argument, dict):
        for item in argument.values():
            yield from _argument(action, item)
    elif isinstance(argument, str) and ACTIONS[action].argument == "file":
        yield argument
