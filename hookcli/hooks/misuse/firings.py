"""Findings about hooks after a run: never fired, fired too rarely or too often, keep tensors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import nn

from hookcli.catalogue.kind import Moment
from hookcli.catalogue.kinds import CATALOGUE
from hookcli.hooks.context import Context
from hookcli.hooks.misuse.retention import kept_alive
from hookcli.models.model import Call
from hookcli.report.recording import HookFinding
from hookcli.spec.hooks import HookSpec
from hookcli.text import counted, join_names

if TYPE_CHECKING:
    from hookcli.hooks.hook import Hook


def everywhere(spec: HookSpec) -> bool:
    """Whether a hook matches everything (`*` or no `at`). Such a hook may match nothing."""
    return spec.at is None or all(
        match.pattern == "*" and match.op is None and match.node is None for match in spec.at.any
    )


def never_fired(hook: Hook) -> HookFinding:
    """Return the finding about a hook that never fired in a run, with the likely reason."""
    spec = hook.spec
    target = spec.at.text if spec.at is not None else ""
    kind = CATALOGUE[spec.kind]
    operators = [
        match for match in (spec.at.any if spec.at is not None else ()) if match.op or match.node
    ]
    if operators:
        what = ", ".join(match.op or match.node or "" for match in operators)
        why = f"no {what} ran (`hookcli trace --kinds op,node` lists the names)"
    elif spec.at is not None and any(match.path for match in spec.at.any) and not hook.fired:
        what = "tensor with a gradient" if "backward" in kind.phases else "tensor"
        why = f"the value has no {what} at that path"
    elif spec.calls or spec.steps or spec.every:
        why = "no firing matches its calls, steps or every"
    elif not hook.attached:
        backward = "backward" in kind.phases
        why = "no target requires grad" if backward else "the run did not reach its target"
    elif hook.on_wrappers and kind.target == "module" and not kind.process_wide:
        why = "torch.compile wrapped the module, and PyTorch does not call the wrapper's hooks: "
        why += "attach it to the module inside, NAME._orig_mod"
    else:
        why = kind.why_silent
    message = f"kind {spec.kind} never fired: {why}"
    return HookFinding("hooks_fired", target, f"{spec.kind} never fired", message, spec.place)


def silent_targets(hook: Hook) -> list[str]:
    """Return the targets at which a hook never fired, although it fired at others.

    Empty for kinds whose events do not have the names of the targets, such as those of a node.
    """
    spec = hook.spec
    if not hook.fired or spec.calls or spec.steps or spec.every:
        return []
    if not set(hook.fired) <= set(hook.targets):
        return []
    return [name for name in hook.targets if name not in hook.fired]


def _names_each(spec: HookSpec) -> bool:
    """Whether a hook names its targets one by one, and does not select them by a pattern."""
    return spec.at is not None and all(
        match.name is not None or (match.pattern is not None and not set("*?[") & {*match.pattern})
        for match in spec.at.any
    )


def never_fired_at(hook: Hook, silent: list[str]) -> HookFinding:
    """Return the finding about a hook that fired at some of its targets only."""
    kind, why = hook.spec.kind, hook.kind.why_silent
    if "backward" in hook.kind.phases and "gradient" not in why:
        why = f"no gradient reached it, or {why}"
    names, many = join_names([f"'{n}'" for n in silent]), counted(len(hook.targets), "target")
    message = f"kind {kind} never fired at {names}; it fired at {len(hook.fired)} of {many}: {why}"
    problem = f"{kind} never fired"
    return HookFinding("hooks_fired", silent[0], problem, message, hook.spec.place, "warning")


def unfulfilled(
    hooks: list[Hook], alive: Callable[[], list[torch.Tensor]] | None
) -> Iterator[HookFinding]:
    """Yield the findings about hooks after a run: never fired, fired again, keep tensors."""
    for hook in hooks:
        if not hook.fired and hook.kind.needs_gpu:
            yield replace(never_fired(hook), severity="warning")
        elif not hook.fired and not everywhere(hook.spec):
            yield never_fired(hook)
        if _names_each(hook.spec) and (silent := silent_targets(hook)):
            yield never_fired_at(hook, silent)
        if hook.again and _counts_calls(hook) and not everywhere(hook.spec):
            yield ran_again(hook)
        if alive is None or not hook.foreign:
            continue
        finding = kept_alive(hook.spec, hook.retention, alive())
        if finding is not None:
            yield finding


def _counts_calls(hook: Hook) -> bool:
    """Whether the hook fires once in every call of its modules."""
    return hook.kind.moment is not None and not hook.kind.process_wide


def ran_again(hook: Hook) -> HookFinding:
    """Return the finding about a forward hook that fired in recomputed calls too."""
    target, times = hook.again.most_common(1)[0]
    message = (
        f"kind {hook.spec.kind} fired {counted(times, 'more time')} than the model called the "
        "module: a checkpoint runs forward again in backward (calls marked recomputed)"
    )
    problem = f"{hook.spec.kind} fired again"
    return HookFinding("hook_misuse", target, problem, message, hook.spec.place, "warning")


class Runs:
    """Counts how often each module ran in a run, by its id, without recomputed calls."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.began: Counter[int] = Counter()
        self.raised: Counter[int] = Counter()

    def enter(self, call: Call) -> None:
        """Count a call that starts."""
        if not call.recomputed and not self._context.passes_over(call):
            self.began[call.key] += 1

    def leave(self, call: Call, *, raised: bool) -> None:
        """Count a call that raised."""
        if raised and not call.recomputed and not self._context.passes_over(call):
            self.raised[call.key] += 1


def fired_otherwise(
    hook: Hook, modules: list[tuple[str, nn.Module]], runs: Runs
) -> Iterator[HookFinding]:
    """Yield findings about a forward hook that did not fire as often as its modules ran.

    Hooks with filters (`calls`, `steps`, `every`) are not checked.
    """
    spec = hook.spec
    if not _counts_calls(hook) or spec.calls or spec.steps or spec.every or not hook.fired:
        return
    for target, module in modules:
        key = id(module)
        times = runs.began[key]
        after = hook.kind.moment is Moment.AFTER_FORWARD
        if after and not spec.options.get("always_call"):
            times -= runs.raised[key]
        fired = hook.fired[target] - hook.again[target]
        if fired == times:
            continue
        message = (
            f"kind {spec.kind} fired {counted(fired, 'time')}, but the module ran "
            f"{counted(times, 'time')}: check whether the model's code removes hooks"
        )
        yield HookFinding(
            "hooks_fired", target, f"{spec.kind} fired otherwise", message, spec.place
        )
