"""`no_hooks`: the model has no hooks of its own when it is loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hookcli.report.existing_hook import PARAMETRIZATION, ExistingHook
from hookcli.report.report import Report
from hookcli.rules.rule import (
    Options,
    Rule,
    RuleFinding,
    RuleOption,
    no_match,
    passed,
    skipped,
)
from hookcli.rules.select import matches
from hookcli.text import counted

_ALL = ("*",)


def _matches(globs: Sequence[str], name: str | None, aliases: Sequence[str] = ()) -> bool:
    return any(matches(glob, name, aliases) for glob in globs)


def _function(hook: ExistingHook) -> tuple[str, tuple[str, ...]]:
    """Return the dotted name of the function, and the last part of it, which is enough."""
    return hook.function, (hook.function.rpartition(".")[2],)


def is_forbidden(hook: ExistingHook, options: Options) -> bool:
    """Return whether the options forbid this hook."""
    at = options["at"]
    if at != _ALL and not _matches(at, hook.module, (hook.target, *hook.aliases)):
        return False
    if not _matches(options["kinds"], hook.kind) or _matches(options["allow"], *_function(hook)):
        return False
    if not _matches(options["functions"], *_function(hook)):
        return False
    return hook.feature is None or _matches(options["features"], hook.feature)


def _sentence(hook: ExistingHook) -> str:
    if hook.module is None:
        return f"the {hook.kind} hook {hook.function} is registered when the model is loaded"
    name = hook.target or "the model"
    if hook.kind == PARAMETRIZATION:
        return f"{name} has the parametrization {hook.function}"
    part = f" of {hook.feature}" if hook.feature else ""
    return f"{name} has the {hook.kind} hook {hook.function}{part} when it is loaded"


def _names(report: Report) -> Iterator[str]:
    """Yield the names of all modules and parameters of the model, and of all modules above them."""
    names = {name for row in report.layers for name in (row.name or "", *row.aliases)}
    names |= {row.name for row in report.uncalled}
    names |= {name for row in report.parameters for name in (row.name, *row.shared_with)}
    names |= {hook.module or "" for hook in report.existing_hooks or ()}
    for name in names:
        yield name
        while name:
            name = name.rpartition(".")[0]
            yield name


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each hook that the options forbid."""
    if report.existing_hooks is None:
        yield skipped("the report does not list the hooks that the model had")
        return
    at = options["at"]
    if at != _ALL and not any(_matches(at, name) for name in _names(report)):
        yield no_match("module", at)
        return
    forbidden = [hook for hook in report.existing_hooks if is_forbidden(hook, options)]
    for hook in forbidden:
        kind = f"{hook.kind} {hook.function}"
        yield RuleFinding("fail", hook.target, kind, _sentence(hook), place=hook.place)
    if not forbidden:
        others = len(report.existing_hooks)
        yield passed(f"{counted(others, 'hook')}, all allowed" if others else "no hooks")


RULE = Rule(
    name="no_hooks",
    severity="error",
    says="the model has no hooks when it is loaded",
    computes="Lists the hooks that are on the model before hookcli attaches any, as `inspect` "
    "does, and reports those that the options forbid: hooks on modules, on parameters and global "
    "ones. Hooks of weight norm, parametrizations, pruning, lazy modules, FSDP and other features "
    "of torch and accelerate are allowed, unless `features` names them.",
    formula="hooks(model) = {}",
    source="pytorch#2847, pytorch#70455",
    fails="a hook for debugging that prints each output, left in the constructor",
    mend="remove the hook where it is registered, by its handle, or add its function to `allow`",
    example='{rule: no_hooks, allow: "train.*"}',
    options=(
        RuleOption("at", "globs", "globs of module and parameter names", _ALL),
        RuleOption("kinds", "globs", "globs of kinds, as in the report", _ALL),
        RuleOption("functions", "globs", "globs of functions that are forbidden", _ALL),
        RuleOption("allow", "globs", "globs of functions that are allowed", ()),
        RuleOption(
            "features", "globs", "globs of features that are forbidden too, such as weight_norm", ()
        ),
    ),
    judge=judge,
)
