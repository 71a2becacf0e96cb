"""A configuration file as plain data, before flags override it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from hookcli.rules.verdict import FailOn
from hookcli.spec.checks import CheckSpec, Suppression
from hookcli.spec.hooks import HookSpec
from hookcli.spec.inputs import InputSpec
from hookcli.spec.request import ModelSpec

Preset: TypeAlias = Literal["inspect", "grads", "trace", "none"]


@dataclass(frozen=True, slots=True)
class Config:
    """One configuration, merged with the files that it extends. None means that a key is missing.

    The keys of `run` are the names of RunSpec's fields. Paths are absolute.
    """

    path: str | None = None
    model: ModelSpec | None = None
    inputs: tuple[InputSpec, ...] = ()
    run: dict[str, Any] = field(default_factory=dict)
    preset: Preset | None = None
    libraries: tuple[str, ...] = ()
    hooks: tuple[HookSpec, ...] = ()
    checks: tuple[CheckSpec, ...] = ()
    suppress: tuple[Suppression, ...] = ()
    fail_on: FailOn | None = None
