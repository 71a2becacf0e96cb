"""From a configured hook to one that works: its actions, with what they need of the run."""

from __future__ import annotations

from hookcli.actions.build import build
from hookcli.actions.tools import Tools
from hookcli.config.hooks import HookSpec, is_average
from hookcli.config.spec import Spec
from hookcli.console import Console, escape
from hookcli.hooks.context import Context
from hookcli.hooks.hook import Hook
from hookcli.models.functions import function_of


def build_hook(one: HookSpec, spec: Spec, context: Context) -> Hook:
    """The hook.

    Raises
    ------
    RequestError, ModelError : an action names what is not there, or what cannot be imported.
    """
    actions = []
    for action in one.actions:
        if one.kind == "ddp_comm" and is_average(action):
            continue  # it is the hook itself
        tools = Tools(
            place=action.place or one.place,
            seed=spec.run.seed,
            statistics=context.statistics,
            say=lambda text: Console().err(escape(text)),
            function=function_of,
        )
        actions.append(build(action, tools))
    return Hook(one, actions, context)
