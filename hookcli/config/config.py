"""What a configuration file says, as plain data, before flags have their say."""

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
    """One configuration, what it extends included. None, or a missing key: the file is silent.

    `run` has the names of RunSpec's fields. Paths are absolute.
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
