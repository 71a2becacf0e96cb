"""Builds hooks from their configuration: their actions, with what these need from the run."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

from hookcli.actions.event import Event
from hookcli.actions.part import on_part
from hookcli.actions.tools import Tools
from hookcli.catalogue.actions import CATALOGUE as ACTIONS, Action
from hookcli.catalogue.kinds import CATALOGUE
from hookcli.console import Console, escape
from hookcli.errors import ProblemsError, RequestError
from hookcli.hooks.context import Context
from hookcli.hooks.hook import Hook
from hookcli.models.python.functions import function_of
from hookcli.spec.hooks import ActionSpec, HookSpec, is_average
from hookcli.spec.request import Spec


def refuse(problems: list[RequestError]) -> None:
    """Raise all problems at once; a problem that two kinds of one entry share is raised once."""
    problems = [
        *{(problem.message, problem.place, problem.hint): problem for problem in problems}.values()
    ]
    if problems:
        raise problems[0] if len(problems) == 1 else ProblemsError(tuple(problems))


def build_hooks(spec: Spec, context: Context) -> list[Hook]:
    """Build the hooks of a request.

    Raises
    ------
    ProblemsError, RequestError : actions name things that do not exist; all are reported.
    ModelError : code that an action names cannot be imported.
    """
    hooks, problems = [], []
    for hook_spec in spec.hooks:
        try:
            hooks.append(build_hook(hook_spec, spec, context))
        except RequestError as problem:
            problems.append(problem)
    refuse(problems)
    return hooks


def build_hook(hook_spec: HookSpec, spec: Spec, context: Context) -> Hook:
    """Build one hook.

    Raises
    ------
    RequestError, ModelError : an action names something that does not exist or cannot be imported.
    """
    actions = []
    for action in hook_spec.actions:
        if CATALOGUE[hook_spec.kind].average is not None and is_average(action):
            continue  # this action is the communication hook itself
        tools = Tools(
            place=action.place or hook_spec.place,
            seed=spec.run.seed,
            statistics=context.statistics,
            norm=context.norm,
            histogram=context.histogram,
            say=lambda text: Console().err(escape(text)),
            function=function_of,
            data_only=spec.data_only,
            rank=spec.run.rank,
            terminal=spec.terminal,
        )
        actions.append(_build_action(action, tools))
    return Hook(hook_spec, actions, context)


_Builder = Callable[[Any, Tools], Callable[[Event], Any]]


def builder_of(action: Action) -> _Builder:
    """Return the function that the action's row names: from (argument, tools) to the action.

    Raises
    ------
    LookupError : the code that attaches the kind performs this action itself.
    """
    if action.build is None:
        raise LookupError(action.name)
    file, _, name = action.build.partition(":")
    return cast("_Builder", getattr(import_module(f"hookcli.actions.{file}"), name))


def _build_action(spec: ActionSpec, tools: Tools) -> Callable[[Event], Any]:
    """Return the function that performs an action. If it returns a value, that is the new value.

    Raises
    ------
    RequestError : its argument names something that does not exist.
    """
    action = builder_of(ACTIONS[spec.name])(spec.argument, tools)
    return action if spec.part is None else on_part(action, spec.part, tools)
