"""Builds the hook engine of a request."""

from __future__ import annotations

from typing import TypeVar

import torch

from hookcli.engine.hook_engine.engine import HookEngine
from hookcli.hooks.context import Context
from hookcli.report.sinks import Sink
from hookcli.spec.request import Spec

_Context = TypeVar("_Context", bound=Context)


def build_context(spec: Spec, sink: Sink, kind: type[_Context]) -> _Context:
    """Return the context of a request's hooks; without hooks its statistics compute nothing."""
    if not spec.hooks:
        return kind(sink.add, lambda _: None, lambda _: None, _nothing, _nothing)
    from hookcli.engine.statistics.cache import StatisticsCache
    from hookcli.engine.statistics.histogram import with_histogram
    from hookcli.engine.statistics.statistics import (
        norm_of,
        norm_of_change,
        norm_of_sum,
        statistics,
    )

    return kind(
        note=sink.add,
        statistics=StatisticsCache(statistics),
        norm=StatisticsCache(norm_of),
        norm_of_sum=StatisticsCache(norm_of_sum),
        difference=norm_of_change,
        histogram=StatisticsCache(with_histogram),
    )


def build_engine(spec: Spec, context: Context) -> HookEngine:
    """Return the engine for the hooks of a request.

    Raises
    ------
    ProblemsError, RequestError, ModelError : actions cannot be built.
    """
    if not spec.hooks:
        return HookEngine(context)
    from hookcli.engine.hook_engine.attached import AttachedHooks

    return AttachedHooks(spec, context)


def engine_for(spec: Spec, sink: Sink) -> HookEngine:
    """Return the engine for a request whose events go to this sink.

    Raises
    ------
    ProblemsError, RequestError, ModelError : actions cannot be built.
    """
    return build_engine(spec, build_context(spec, sink, Context))


def _nothing(*_: torch.Tensor) -> None:
    return None
