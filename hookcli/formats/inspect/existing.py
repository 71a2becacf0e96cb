"""The hooks that a model had when it was loaded, below its layers; nothing if it had none."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from hookcli.console import escape
from hookcli.formats.parts.grid import Column
from hookcli.formats.parts.summary import join_alike
from hookcli.formats.parts.text import place
from hookcli.formats.view import View
from hookcli.report.existing_hook import PARAMETRIZATION, ExistingHook
from hookcli.report.report import Report

_MOST = 20  # lines of the table


@dataclass(frozen=True, slots=True)
class HookGroup:
    """Hooks of one kind with the same function, on one or many modules."""

    hooks: tuple[ExistingHook, ...]

    @property
    def first(self) -> ExistingHook:
        """The first of them, which stands for all."""
        return self.hooks[0]

    @property
    def targets(self) -> str:
        """What they are on: names that differ only in an index become one, with a count."""
        return join_alike([_target(hook) for hook in self.hooks])


def shown_hooks(report: Report, view: View) -> list[ExistingHook]:
    """Return the hooks of the view; `--only` selects those of modules and tensors."""
    return [
        hook
        for hook in report.existing_hooks or ()
        if view.only is None
        or (hook.module is not None and fnmatchcase(hook.module, view.only))
        or (hook.tensor is not None and fnmatchcase(hook.target, view.only))
    ]


def groups(report: Report, view: View) -> list[HookGroup]:
    """Return the hooks in groups that differ only in what they are on."""
    alike: dict[tuple[object, ...], list[ExistingHook]] = {}
    for hook in shown_hooks(report, view):
        key = (hook.kind, hook.function, hook.place, hook.feature, hook.options)
        alike.setdefault(key, []).append(hook)
    return [HookGroup(tuple(hooks)) for hooks in alike.values()]


def first_groups(report: Report, view: View) -> list[HookGroup]:
    """Return as many groups as a table shows."""
    return groups(report, view)[:_MOST]


def notes(report: Report, view: View) -> list[str]:
    """Return a note if a table does not show all groups."""
    omitted = groups(report, view)[_MOST:]
    if not omitted:
        return []
    more = sum(len(group.hooks) for group in omitted)
    return [f"{more:,} more existing hooks are not shown: use -f tree or -f json"]


COLUMNS: dict[str, Column[HookGroup]] = {
    "kind": Column("Existing hook", lambda group: kind_text(group.first)),
    "targets": Column("On", lambda group: group.targets, least=16),
    "function": Column("Function", lambda group: escape(group.first.function), least=16),
    "place": Column("Place", lambda group: place(group.first.place), least=12, spare=True),
}


def lines(report: Report, view: View) -> list[str]:
    """Return a line for each hook, however long it is."""
    return [
        f"existing hook: {kind_text(hook)} on {escape(_target(hook))}: {escape(hook.function)}"
        + (f"  {place(hook.place)}" if hook.place else "")
        for hook in shown_hooks(report, view)
    ]


def kind_text(hook: ExistingHook) -> str:
    """Return the kind with the feature and the options: "forward_pre (weight_norm)"."""
    feature = () if hook.kind == PARAMETRIZATION or hook.feature is None else (hook.feature,)
    more = ", ".join((*feature, *hook.options))
    return escape(f"{hook.kind} ({more})" if more else hook.kind)


def _target(hook: ExistingHook) -> str:
    if hook.module is None:
        return "every module" if hook.type is None else hook.type
    return f"{hook.target or '(root)'} ({hook.type})"
