"""Finds the targets of a selector in a model: modules, parameters, values, nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from torch import nn

from hookcli.catalogue.actions import CATALOGUE as ACTIONS
from hookcli.catalogue.kinds import CATALOGUE, CATALOGUE as KINDS
from hookcli.errors import RequestError
from hookcli.models import module_tree
from hookcli.models.converted.compiled import WRAPPED
from hookcli.models.model import Model, TensorInfo
from hookcli.models.scripted import type_of
from hookcli.report.recording import HookFinding
from hookcli.sentences import no_match
from hookcli.spec import selectors
from hookcli.spec.hooks import HookSpec, Match, Selector
from hookcli.text import nearest, try_instead

_WRAPPER = re.compile(rf"\\?\.{WRAPPED}\b|\b{WRAPPED}(\\?\.|$)")


@dataclass(frozen=True, slots=True)
class Known:
    """A model's modules with their names, and its parameters."""

    modules: list[tuple[nn.Module, list[str]]]
    parameters: tuple[TensorInfo, ...]

    @classmethod
    def of(cls, model: Model) -> Known:
        """Return the modules and parameters of this model."""
        return cls(module_tree.modules(model.root), model.parameters())

    def module_names(self) -> list[str]:
        """Return all names of all modules."""
        return [name for _, names in self.modules for name in names]


@dataclass(slots=True)
class Targets:
    """The targets of one hook.

    `values` are modules with the condition on the tensors of their calls. `missed` contains the
    indices of the selector's conditions that match nothing.
    """

    modules: list[tuple[str, nn.Module]] = field(default_factory=list)
    parameters: list[TensorInfo] = field(default_factory=list)
    values: list[tuple[str, nn.Module, Match]] = field(default_factory=list)
    missed: set[int] = field(default_factory=set)


def resolve(spec: HookSpec, known: Known) -> Targets:
    """Return the targets of a hook.

    Raises
    ------
    RequestError : its selector matches nothing; similar names are suggested.
    """
    kind = CATALOGUE[spec.kind]
    targets = Targets()
    if spec.at is None:
        targets.modules = [(names[0], module) for module, names in known.modules]
        return targets
    at = _as_unwrapped(spec.at, known)
    for number, match in enumerate(at.any):
        matches: list[Any]
        if match.part is not None or match.op is not None or match.node is not None:
            matches = _values(match, known)
            targets.values += matches
        elif kind.at.plain == "parameter":
            selector = Selector((match,), spec.at.text)
            matches = [
                p for p in known.parameters if selectors.name_matches(selector, p.name, p.aliases)
            ]
            targets.parameters += [info for info in matches if info not in targets.parameters]
        else:
            matches = module_targets(match, known)
            targets.modules += [pair for pair in matches if pair not in targets.modules]
        if not matches:
            targets.missed.add(number)
    _check(spec, spec.at, targets, known)
    return targets


def _as_unwrapped(at: Selector, known: Known) -> Selector:
    """Return the selector without `_orig_mod.`, which the names of an unwrapped model lack."""
    if WRAPPED not in at.text or any(WRAPPED in name for name in known.module_names()):
        return at

    def plain(text: str | None) -> str | None:
        return None if text is None else _WRAPPER.sub("", text)

    def changed(match: Match) -> Match:
        negated = match.negated and replace(
            match.negated, any=tuple(map(changed, match.negated.any))
        )
        inside = match.inside and replace(match.inside, any=tuple(map(changed, match.inside.any)))
        return replace(
            match,
            pattern=plain(match.pattern),
            name=plain(match.name),
            regex=plain(match.regex),
            negated=negated,
            inside=inside,
        )

    return replace(at, any=tuple(map(changed, at.any)))


def missed(resolved: Iterable[tuple[HookSpec, Targets]], known: Known) -> Iterator[HookFinding]:
    """Yield a finding for each item of a list in `at` that matches nothing for any kind."""
    entries: dict[int, tuple[HookSpec, set[int]]] = {}
    for spec, targets in resolved:
        _, common = entries.setdefault(spec.index, (spec, {*targets.missed}))
        common &= targets.missed
    for spec, numbers in entries.values():
        if spec.at is None or len(spec.at.texts) < 2:
            continue
        for number in sorted(numbers):
            selector = Selector((spec.at.any[number],), spec.at.texts[number])
            if _is_everything(selector.any[0]):
                continue
            message = f"nothing matches '{selector.text}' in the list of at"
            hint = _hint(spec, selector, known)
            yield HookFinding(
                "hook_misuse",
                selector.text,
                "no match",
                f"{message}: {hint}",
                spec.place,
                "warning",
            )


def module_targets(match: Match, known: Known) -> list[tuple[str, nn.Module]]:
    """Return the modules that match a condition, with their first names."""
    return [
        (names[0], module)
        for module, names in known.modules
        if selectors.match_module(
            match,
            names[0],
            tuple(names[1:]),
            type_of(module),
            selectors.depth_of(names[0]),
            not module._modules,
        )
    ]


def _values(match: Match, known: Known) -> list[tuple[str, nn.Module, Match]]:
    if match.part is None and match.inside is None:  # an operator or node anywhere in the model
        root, names = known.modules[0]
        return [(names[0], root, match)]
    return [(name, module, match) for name, module in module_targets(match, known)]


def _check(spec: HookSpec, at: Selector, targets: Targets, known: Known) -> None:
    if targets.modules or targets.parameters or targets.values:
        return
    if all(map(_is_everything, at.any)):
        return  # `*` may match nothing
    what = "parameter" if _of_parameters(spec, at) else "module"
    raise RequestError(
        no_match(what, at.text),
        place=f"{spec.place}.at  |  at: {at.text}" if spec.place else f"at: {at.text}",
        hint=_hint(spec, at, known),
    )


def _is_everything(match: Match) -> bool:
    return match.pattern == "*" and match.part is None


def _of_parameters(spec: HookSpec, at: Selector) -> bool:
    return CATALOGUE[spec.kind].at.plain == "parameter" and any(
        match.part is None and match.op is None and match.node is None for match in at.any
    )


def _hint(spec: HookSpec, at: Selector, known: Known) -> str:
    """Return the hint for a selector that matches nothing."""
    of_parameters = _of_parameters(spec, at)
    names = [info.name for info in known.parameters] if of_parameters else known.module_names()
    return _other(at, known, of_parameters) or selectors.advice(at, names)


def _other(at: Selector, known: Known, of_parameters: bool) -> str | None:
    """Return the hint if the selector names a module, a parameter or an unknown type by mistake."""
    modules, parameters = set(known.module_names()), {info.name for info in known.parameters}
    for match in at.any:
        name = match.name or match.pattern
        if of_parameters and name in modules:
            return f"use `{name}.*` for the parameters of module {name}, or `{name}:output`"
        if not of_parameters and name in parameters:
            return f"use kind tensor or post_accumulate_grad for the parameter {name}"
        if match.type is not None:
            types = sorted({type_of(module) for module, _ in known.modules})
            near = nearest(match.type, types, cutoff=0.6)
            return try_instead(near, f"choose from {', '.join(types[:8])}")
    return None


def swapping(hooks: tuple[HookSpec, ...], root: nn.Module) -> Callable[[nn.Module], bool]:
    """Return a function that tells whether a hook may replace a module's inputs or output.

    It is asked before a scripted module first runs.
    """
    known = Known(module_tree.modules(root), ())
    module_ids: set[int] = set()
    for hook in hooks:
        changes = any(ACTIONS[action.name].changes for action in hook.actions)
        if changes and KINDS[hook.kind].moment is not None:
            try:
                module_ids.update(id(module) for _, module in resolve(hook, known).modules)
            except RequestError:  # reported when the hooks are attached
                continue
    return lambda module: id(module) in module_ids
