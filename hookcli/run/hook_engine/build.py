"""The hooks of a request → the engine that a run tells of its progress."""

from __future__ import annotations

from typing import TypeVar

import torch

from hookcli.hooks.context import Context
from hookcli.report.sinks import Sink
from hookcli.run.hook_engine.engine import HookEngine
from hookcli.run.hook_engine.no_hooks import NoHooks
from hookcli.spec.request import Spec

_Context = TypeVar("_Context", bound=Context)


def build_context(spec: Spec, sink: Sink, kind: type[_Context]) -> _Context:
    """What the hooks of a request share; without hooks, nothing measures."""
    if not spec.hooks:
        return kind(sink.add, lambda _: None, lambda _: None, _nothing, _nothing)
    from hookcli.run.statistics.cache import StatisticsCache
    from hookcli.run.statistics.statistics import norm_of, norm_of_change, norm_of_sum, statistics

    return kind(
        note=sink.add,
        statistics=StatisticsCache(statistics),
        norm=StatisticsCache(norm_of),
        norm_of_sum=StatisticsCache(norm_of_sum),
        difference=norm_of_change,
    )


def build_engine(spec: Spec, context: Context) -> HookEngine:
    """The engine for the hooks of a request.

    Raises
    ------
    ProblemsError, RequestError, ModelError : actions that cannot be had.
    """
    if not spec.hooks:
        return NoHooks(context)
    from hookcli.run.hook_engine.attached import AttachedHooks

    return AttachedHooks(spec, context)


def engine_for(spec: Spec, sink: Sink) -> HookEngine:
    """The engine for a request whose events go to this sink.

    Raises
    ------
    ProblemsError, RequestError, ModelError : actions that cannot be had.
    """
    return build_engine(spec, build_context(spec, sink, Context))


def _nothing(*_: torch.Tensor) -> None:
    return None
