"""Checks `at` and `calls` against the kind of the hook, which decides what a name means."""

from __future__ import annotations

from hookcli.catalogue.kind import InCalls, Kind
from hookcli.config.parse.nodes import Node, Problems
from hookcli.config.sections.at import Found
from hookcli.spec.hooks import Match
from hookcli.spec.selectors import is_plain


def check_at(kind: Kind, hook: Node, matches: Found, problems: Problems) -> None:
    """Note an `at` that the kind does not support."""
    rules, at = kind.at, hook.get("at")
    if rules.plain is None and at is not None:
        hint = "remove it"
        if rules.by_name:
            hint = f"remove it, or use kind {rules.by_name}, which fires for the modules in 'at'"
        problems.add(at, f"kind {kind.name} does not support 'at': it fires {kind.when}", hint)
    elif rules.required and at is None:
        problems.add(hook, f"kind {kind.name} requires 'at'", f"add it, as in `{kind.example}`")
    elif rules.plain is not None:
        for item, match in matches:
            _check_match(kind, item, match, problems)


def check_calls(kind: Kind, hook: Node, matches: Found, problems: Problems) -> None:
    """Note `calls` if a firing does not belong to a call of a module: it would never match."""
    calls = hook.get("calls")
    if calls is None:
        return
    at_values = kind.calls is InCalls.AT_VALUES
    of_values = at_values and not any(is_plain(match) for _, match in matches)
    if kind.calls is not InCalls.ALWAYS and not of_values:
        what = f"kind {kind.name}" + (" on a parameter" if at_values else "")
        problems.add(
            calls,
            f"{what} does not support 'calls': it does not fire in a module's call",
            "use `steps` or `every`, or remove it",
        )


def _check_match(kind: Kind, item: Node, match: Match, problems: Problems) -> None:
    rules = kind.at
    refused = f"kind {kind.name} cannot be attached to"
    if match.part is not None and match.part not in rules.parts:
        hint = "remove the part" if rules.plain == "module" else "use kind tensor"
        problems.add(
            item,
            f"{refused} an {match.part} of a module's call",
            f"{hint}, as in `{kind.example}`" if rules.plain == "module" else hint,
        )
    elif match.op is not None and not rules.op:
        problems.add(item, f"{refused} an operator", "use kind op or tensor")
    elif match.node is not None and not rules.node:
        problems.add(item, f"{refused} an autograd node", "use kind node or node_pre")
    elif is_plain(match) and rules.plain != "module" and (key := _of_modules(match)):
        hint = f"add `part: {rules.parts[-1]}`" if rules.parts else "use `name` or `regex`"
        problems.add(
            item, f"'{key}' selects modules, but kind {kind.name} selects {rules.plain}s", hint
        )


def _of_modules(match: Match) -> str | None:
    """Return a condition that only modules can meet, also one inside `not`."""
    for key in ("type", "depth", "leaf"):
        if getattr(match, key) is not None:
            return key
    inner = (
        (_of_modules(condition) for condition in match.negated.any) if match.negated else iter(())
    )
    return next((key for key in inner if key), None)
