"""One entry of `hooks`: its kinds, where they are attached, when they fire, what they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hookcli.catalogue.actions import CATALOGUE as ACTIONS
from hookcli.catalogue.kind import InCalls, Kind
from hookcli.catalogue.kinds import CATALOGUE, LIST_HINT
from hookcli.catalogue.options import OPTIONS as KIND_OPTIONS
from hookcli.config.parse.containers import ByType, Fields, Key, ListOf
from hookcli.config.parse.nodes import Node, NodeError, Problems
from hookcli.config.parse.scalars import Boolean, Choice, Integer, Named, Schema, Text
from hookcli.config.sections.actions import DO
from hookcli.config.sections.at import AT, Found, selector_of
from hookcli.config.sections.default_actions import with_defaults
from hookcli.sentences import given_twice
from hookcli.spec.hooks import ActionSpec, HookSpec, Match, is_average
from hookcli.spec.selectors import is_plain

_EXPECTED = "a pattern of names, or a mapping {type: NAME}"
_HINT = "write `root: netG` or `root: {type: Generator}`"
_FORMS = ByType(
    {
        str: Text(),
        dict: Fields(
            {"type": Key(Text(), "a pattern of the root's type", required=True)},
            expected=_EXPECTED,
            hint=_HINT,
        ),
    },
    _EXPECTED,
    _HINT,
)


class OneRoot:
    """A root, as a condition with a pattern or a type."""

    expected = _EXPECTED

    def read(self, item: Node, problems: Problems) -> Match:
        """Return the condition."""
        value: Any = _FORMS.read(item, problems)
        return Match(pattern=value) if isinstance(value, str) else Match(type=value["type"])

    def schema(self) -> Schema:
        """JSON Schema."""
        return _FORMS.schema()


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


OPTIONS = Fields(
    {
        option.name: Key(Choice(option.choices) if option.choices else Boolean(), option.short)
        for option in KIND_OPTIONS.values()
    }
)


def _bare(word: str) -> str:
    return word.removeprefix("register_").removeprefix("module_").removesuffix("_hook")


class _Where:
    """`at`, each condition with its place."""

    expected = AT.expected

    def read(self, item: Node, problems: Problems) -> Found:
        """Return the conditions."""
        return AT.matches(item, problems)

    def schema(self) -> Schema:
        """JSON Schema."""
        return AT.schema()


_KINDS = Named(
    "kind", {kind.name: f"fires {kind.fires}" for kind in CATALOGUE.values()}, LIST_HINT, bare=_bare
)


class _Kind:
    """The name of a kind."""

    expected = _KINDS.expected

    def read(self, item: Node, problems: Problems) -> str:
        """Return the name."""
        return _KINDS.read(item, problems)

    def schema(self) -> Schema:
        """JSON Schema, by reference because it is used twice."""
        return {"$ref": "#/$defs/kind"}


# What people write for `at`.
_WORDS_FOR_AT = (
    "target", "targets", "where", "module", "modules", "layer", "layers", "name", "names", "path",
    "parameter", "parameters", "tensor", "tensors", "selector", "pattern", "glob", "match",
)  # fmt: skip
DEFS: Schema = {"kind": _KINDS.schema()}
HOOK = Fields(
    {
        "kind": Key(
            ListOf(_Kind(), one=True, least=1), "when: a kind of hook, or a list of kinds", True
        ),
        "at": Key(_Where(), "where: a pattern, conditions, or a list of these"),
        "calls": Key(
            ListOf(Integer(0), one=True, least=1), "only these calls of the module, counted from 0"
        ),
        "steps": Key(ListOf(Integer(0), one=True, least=1), "only these steps, counted from 0"),
        "every": Key(Integer(1), "only every n-th firing on a target"),
        "root": Key(
            OneRoot(), "only this root of a training (hookcli run): a pattern of names, or {type}"
        ),
        "options": Key(OPTIONS, "options of PyTorch's function that attaches the kind"),
        "do": Key(
            ListOf(DO, one=True, least=1), "what: an action, or a list in order; default record"
        ),
    },
    expected="a mapping {kind, at, do}",
    hint="write `- {kind: forward, at: fc, do: stats}`",
    hints={
        **dict.fromkeys(("action", "actions", "run", "then"), "try `do`"),
        **dict.fromkeys(_WORDS_FOR_AT, "try `at`"),
        **dict.fromkeys(("type", "hook", "hooks", "event", "on", "when"), "try `kind`"),
        **{
            option.name: f"write `options: {{{option.name}: {option.example}}}`"
            for option in KIND_OPTIONS.values()
        },
        "call": "write `do: {call: my_hooks.py:halve}` for an action, or `calls: [0]` for calls",
    },
)


@dataclass(frozen=True, slots=True)
class Read:
    """A hook with its node, for errors that concern several hooks."""

    item: Node
    spec: HookSpec


def read_hook(item: Node, index: int, problems: Problems) -> tuple[Read, ...]:
    """Return a hook for each of its kinds, or none if a problem was noted."""
    before = len(problems)
    values = HOOK.partly(item, problems)
    kinds = [CATALOGUE[name] for name in values.get("kind", ())]
    where: Found = values.get("at", ())
    for i, kind in enumerate(kinds):
        if kind in kinds[:i]:
            problems.add(item.value["kind"], given_twice(kind.name), "remove one of them")
        if "at" in values or "at" not in item.value:
            check_at(kind, item, where, problems)
            check_calls(kind, item, where, problems)
        _check_options(kind, item, problems)
        _check_actions(kind, item, values, problems)
    if len(problems) > before:
        return ()
    at = selector_of(item.value["at"], where) if where else None
    return tuple(
        Read(
            item,
            HookSpec(
                index=index,
                kind=kind.name,
                at=at,
                calls=values.get("calls"),
                steps=values.get("steps"),
                every=values.get("every"),
                options=values.get("options", {}),
                actions=with_defaults(kind, values.get("do", ()), item.place),
                place=item.place,
                root=values.get("root"),
            ),
        )
        for kind in kinds
    )


def _check_options(kind: Kind, hook: Node, problems: Problems) -> None:
    options = hook.get("options")
    if options is None or not isinstance(options.value, dict):
        return
    for name, option in options.value.items():
        if name in OPTIONS.keys and name not in kind.options:
            choices = ", ".join(kind.options)
            hint = f"choose from {choices}" if choices else "remove `options`"
            problems.add(option, f"kind {kind.name} does not support option '{name}'", hint)


def _check_actions(kind: Kind, hook: Node, values: dict[str, Any], problems: Problems) -> None:
    """Note actions that this kind does not support."""
    actions: tuple[ActionSpec, ...] = values.get("do", ())
    if not actions:
        return
    do = hook.value["do"]
    items = do.value if isinstance(do.value, list) else [do]
    at_input = kind.at.parts_are_fixed and any(m.part for _, m in values.get("at", ()))
    for item, action in zip(items, actions, strict=True):
        with problems.catching():
            _check_value(kind, hook, item, action, fixed=at_input or not kind.replaces)
        with problems.catching():
            _check_function(kind, item, action)
    if kind.average is not None and sum(map(is_average, actions)) > 1:
        problems.add(do, "two actions average the bucket", "remove one comm or call")


def _check_value(kind: Kind, hook: Node, item: Node, action: ActionSpec, *, fixed: bool) -> None:
    """Refuse an action that changes a value which is `fixed`."""
    row = ACTIONS[action.name]
    if fixed and row.changes and not row.may_look and not row.averages:
        name = f"{kind.name} at an input" if kind.replaces else kind.name
        line = hook.value["kind"].mark.line
        raise NodeError(
            item,
            f"{action.name} changes the value, which kind {name} (line {line}) does not support",
            "use kind tensor, forward or full_backward, or an action that does not change values",
        )


def _check_function(kind: Kind, item: Node, action: ActionSpec) -> None:
    row = ACTIONS[action.name]
    pair = row.foreign and isinstance(action.argument, dict)
    if row.averages and kind.average is None:
        able = " or ".join(other.name for other in CATALOGUE.values() if other.average is not None)
        raise NodeError(
            item,
            f"kind {kind.name} does not support {row.name}: it has no buckets to average",
            f"use kind {able}",
        )
    if pair and not kind.pair:
        raise NodeError(
            item,
            f"kind {kind.name} requires one function, got a pair",
            "write `call: my_hooks.py:halve`",
        )
    native = row.foreign and not pair and action.argument.signature == "native"
    if kind.pair and native:
        raise NodeError(
            item,
            f"kind {kind.name} requires a pair of functions",
            "write `call: {pack: f.py:pack, unpack: f.py:unpack}`",
        )


def hook_schema() -> Schema:
    """Return the JSON Schema of one hook: its keys, and the options and `at` of each kind."""
    groups: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for kind in CATALOGUE.values():
        rules = kind.at
        needs = "none" if rules.plain is None else "required" if rules.required else "optional"
        groups.setdefault((kind.options, needs), []).append(kind.name)
    return {**HOOK.schema(), "allOf": [_rule(names, *key) for key, names in groups.items()]}


def _rule(names: list[str], options: tuple[str, ...], needs: str) -> Schema:
    all_options = OPTIONS.schema()["properties"]
    own = {name: all_options[name] for name in options}
    then: Schema = {"properties": {"options": {"properties": own, "additionalProperties": False}}}
    if needs == "required":
        then["required"] = ["at"]
    if needs == "none":
        then["properties"]["at"] = False
    listed = {"type": "array", "contains": {"enum": names}}
    one_of = {"properties": {"kind": {"anyOf": [{"enum": names}, listed]}}, "required": ["kind"]}
    return {"if": one_of, "then": then}
