"""Mistakes in the code of the classes that ran, read from their source.

`discarded_results`: a call that returns a new tensor, which nothing uses, of a function or of a
module of torch. `module_backwards`: a
method `backward` of a module, which autograd never calls. `unread_inputs`: arguments of the model's
forward that the batch contains and that its code does not read. `repeated_modules`: lists that
multiply a new module, as `[nn.Linear(4, 4)] * 3`, which has one module three times.
`unread_settings`: arguments of constructors that have no effect.
`causal_code`: what tells that later positions must be hidden. `squeezes`: calls of `squeeze`
without a dimension. `batch_positions`: positions that are cut to the size of the batch.
`last_steps`: recurrent layers whose last step is read, beside padded samples. `log_variances`:
noise that is scaled by the exponential of a log variance. `code_mistakes`: what is written
otherwise than it is meant.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from types import FunctionType
from typing import Any

import torch
from torch import nn

from hookcli.engine.probes.code.last_steps import last_steps
from hookcli.engine.probes.code.log_variances import variances_as_deviations
from hookcli.engine.probes.code.lost_results import discarded, lost_calls, lost_names
from hookcli.engine.probes.code.mistakes.catalogue import (
    MOST_TEXT,
    changed_inputs,
    mistakes_of_text,
    module_spans,
)
from hookcli.engine.probes.code.position_code import (
    batch_first,
    causal_hints,
    sliced_by_batch,
    squeezes,
)
from hookcli.engine.probes.code.repeated_modules import (
    has_parameters,
    multiplied,
    partly_shared,
    repeated,
)
from hookcli.engine.probes.code.unread_settings import unread_settings
from hookcli.engine.probes.code.user_source import (
    OwnText,
    definition_of,
    is_name,
    is_own,
    shown_line,
)
from hookcli.engine.probes.context import ProbeWatcher, Requests, where_possible
from hookcli.engine.probes.samples.padding import padded_ends
from hookcli.models import module_tree, places
from hookcli.models.model import Call, CallInputs, Model
from hookcli.report.findings import Measurement
from hookcli.spec.request import Spec
from hookcli.torch_private import BatchNormBase

DISCARDED, BACKWARDS, UNREAD = "discarded_results", "module_backwards", "unread_inputs"
REPEATED, CAUSAL, SQUEEZES = "repeated_modules", "causal_code", "squeezes"
POSITIONS, LAST_STEPS, VARIANCES = "batch_positions", "last_steps", "log_variances"
SETTINGS, MISTAKES = "unread_settings", "code_mistakes"

_MOST = 10  # findings of one kind


class UserCode(ProbeWatcher):
    """Reads the source of the classes that ran."""

    def __init__(self, probes: tuple[str, ...]) -> None:
        self.measurements = []
        self._probes = probes
        self._kinds: dict[type, str | None] = {}
        self._first: dict[type, nn.Module] = {}  # the first module of each class
        self._ran: set[int] = set()  # ids of modules
        self._hooked: set[int] = set()  # ids of those with hooks, which may be removed meanwhile
        self._root: nn.Module | None = None
        self._given: CallInputs | None = None

    def begin(self, model: Model) -> None:
        """Forget an earlier run."""
        self.measurements.clear()
        self._kinds.clear()
        self._first.clear()
        self._ran.clear()
        self._hooked.clear()
        self._root, self._given = model.root, None

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Note the class of a module, and the batch of the first call."""
        if call.module is self._root and self._given is None:
            self._given = batch
        if call.module is not None:
            self._kinds.setdefault(type(call.module), call.name)
            self._first.setdefault(type(call.module), call.module)
            self._ran.add(id(call.module))
            if _has_hooks(call.module):
                self._hooked.add(id(call.module))

    def read(self, root: nn.Module, given: CallInputs | None) -> None:
        """Read the source of the classes of a model that runs already, with this batch."""
        for name, module in module_tree.named(root):
            self._kinds.setdefault(type(module), name)
            self._first.setdefault(type(module), module)
            self._ran.add(id(module))
        self._root, self._given = root, given
        self.complete()

    def complete(self) -> None:
        """Read the source."""
        with where_possible():
            self._read()
        self._root = self._given = None
        self._first.clear()

    def _read(self) -> None:
        for probe in self._probes:
            if probe != MISTAKES:
                self._add(probe, "", {"count": len(self._kinds)})
        if MISTAKES in self._probes:
            self._read_files()
        seen: set[tuple[str, str | None]] = set()
        for kind, name in self._kinds.items():
            functions = [*_functions(kind)]
            for function in functions if DISCARDED in self._probes else ():
                for what, place in discarded(function):
                    if (what, place) not in seen and len(seen) < _MOST:
                        seen.add((what, place))
                        self._add(DISCARDED, name, {"call": what, "place": place})
                for lost in (*self._lost(kind, function), *lost_names(function)):
                    what = lost["call"].removeprefix("self.")
                    if (what, lost["place"]) not in seen and len(seen) < _MOST:
                        seen.add((what, lost["place"]))
                        self._add(DISCARDED, name, lost)
            backward = vars(kind).get("backward") if BACKWARDS in self._probes else None
            if isinstance(backward, FunctionType) and _takes_gradients(backward):
                place = shown_line(backward, backward.__code__.co_firstlineno)
                self._add(BACKWARDS, name, {"module": kind.__name__, "place": place})
            if CAUSAL in self._probes:
                for what, place in islice(causal_hints(kind, functions), 1):
                    self._add(CAUSAL, name, {"what": what, "place": place})
            for function in functions if VARIANCES in self._probes else ():
                definition = definition_of(function)
                found = () if definition is None else variances_as_deviations(definition)
                for what, line in islice(found, 1):
                    value = {"what": what, "place": shown_line(function, line)}
                    self._add(VARIANCES, name, value)
            for place in islice(squeezes(functions), 1) if SQUEEZES in self._probes else ():
                self._add(SQUEEZES, name, {"place": place})
        for kind, name in self._kinds.items() if POSITIONS in self._probes else ():
            module, first = self._first.get(kind), batch_first(self._root)
            for attribute, place in sliced_by_batch(module) if first else ():
                value = {"attribute": attribute, "class": kind.__name__, "place": place}
                self._add(POSITIONS, name, {**value, "batch_first": first})
        padded = padded_ends(*self._given) if LAST_STEPS in self._probes and self._given else None
        for kind, name in self._kinds.items():
            module = self._first.get(kind)
            if padded is None or module is None:
                continue
            for layer, line, method in last_steps(module):
                value = {"layer": layer, "place": shown_line(method, line), **padded.facts()}
                self._add(LAST_STEPS, name, value)
        for kind in self._kinds if REPEATED in self._probes else ():
            made = vars(kind).get("__init__")
            for place in multiplied(made) if isinstance(made, FunctionType) else ():
                for name, count, of in islice(repeated(self._root, kind), _MOST):
                    self._add(REPEATED, name, {"entries": count, "of": of, "place": place})
            if isinstance(made, FunctionType) and is_own(made):
                place = shown_line(made, made.__code__.co_firstlineno)
                for name, count, separate in islice(partly_shared(self._root, kind), _MOST):
                    row = {"entries": count, "separate": separate, "place": place}
                    self._add(REPEATED, name, row)
        own = OwnText()
        for kind, name in self._kinds.items() if SETTINGS in self._probes else ():
            for unread in unread_settings(kind, own):
                value = {"class": kind.__name__, **asdict(unread)}
                self._add(SETTINGS, name, value)
        root = None if self._root is None else vars(type(self._root)).get("forward")
        if MISTAKES in self._probes and isinstance(root, FunctionType):
            self._read_root(root)
        if UNREAD in self._probes and self._root is not None and self._given is not None:
            forward = vars(type(self._root)).get("forward")
            if isinstance(forward, FunctionType):
                place = shown_line(forward, forward.__code__.co_firstlineno)
                for argument in _unread(forward, *self._given):
                    self._add(UNREAD, "", {"argument": argument, "place": place})

    def _read_files(self) -> None:
        """Add the mistakes in the files of the classes, without those in other modules there."""
        spans: dict[str, list[tuple[int, int, str | None]]] = {}
        for kind, name in self._kinds.items():
            for function in _functions(kind):
                node = definition_of(function)
                if node is not None:
                    file = function.__code__.co_filename
                    end = node.end_lineno or node.lineno
                    spans.setdefault(file, []).append((node.lineno, end, name))
        searched = True
        for file, functions in spans.items():
            text = "".join(linecache.getlines(file))
            if len(text) > MOST_TEXT:
                searched = False
                continue
            left_out = module_spans(text, {kind.__name__ for kind in self._kinds})
            for mistake, found in mistakes_of_text(text):
                if any(first <= found.line <= last for first, last in left_out):
                    continue
                names = (name for first, last, name in functions if first <= found.line <= last)
                place = f"{places.show(file)}:{found.line}"
                value = {"mistake": mistake, "what": found.what, "other": found.other}
                self._add(MISTAKES, next(names, ""), {**value, "place": place})
        if searched:
            self._add(MISTAKES, "", {"count": len(self._kinds)})

    def _read_root(self, forward: FunctionType) -> None:
        """Add the lines of the model's forward that change one of its inputs in place."""
        definition = definition_of(forward) if is_own(forward) else None
        for node, name in changed_inputs(definition) if definition is not None else ():
            place = shown_line(forward, node.lineno)
            value = {"mistake": "changed_input", "what": ast.unparse(node), "other": name}
            self._add(MISTAKES, "", {**value, "place": place})

    def _lost(self, kind: type, function: FunctionType) -> Iterator[dict[str, Any]]:
        """Yield the calls of modules in a method whose results nothing uses.

        Such a module ran, and all that it does is return a tensor. A constructor may call it to
        initialize lazy modules.
        """
        definition, module = definition_of(function), self._first.get(kind)
        name = function.__name__
        is_method = inspect.getattr_static(kind, name, None) is function and name != "__init__"
        if definition is None or module is None or not is_method:
            return
        for attribute, variable, line in lost_calls(definition):
            if "(" in attribute:  # a function of torch
                place = shown_line(function, line)
                yield {"call": attribute, "place": place, "variable": variable}
                continue
            called = module._modules.get(attribute)
            if called is None or id(called) not in self._ran or not self._only_returns(called):
                continue
            if variable is not None or not has_parameters(
                called
            ):  # else its missing gradient tells
                place = shown_line(function, line)
                yield {"call": f"self.{attribute}", "place": place, "variable": variable}

    def _only_returns(self, module: nn.Module) -> bool:
        """Return whether a module is of torch, and changes nothing: input, buffers, or by hooks."""
        return not any(
            not type(one).__module__.startswith("torch.nn.modules.")
            or isinstance(one, nn.Identity)  # as a mark for hooks
            or getattr(one, "inplace", False)
            or isinstance(one, BatchNormBase)
            or id(one) in self._hooked
            or _has_hooks(one)
            for _, one in module_tree.named(module)
        )

    def _add(self, probe: str, name: str | None, value: dict[str, Any]) -> None:
        self.measurements.append(Measurement(probe, name or "", None, value, None))


def _functions(kind: type) -> Iterator[FunctionType]:
    """Yield the forward of a class, and the methods and functions that are called from it."""
    todo: list[object] = [inspect.getattr_static(kind, "forward", None), vars(kind).get("__init__")]
    seen: set[int] = set()
    for found in todo:  # grows meanwhile
        function = getattr(found, "__func__", found)
        if not isinstance(function, FunctionType) or id(function) in seen:
            continue
        seen.add(id(function))
        definition = definition_of(function) if is_own(function) else None
        if definition is None:
            continue
        yield function
        for node in ast.walk(definition):
            target = node.func if isinstance(node, ast.Call) else None
            if isinstance(target, ast.Name):
                todo.append(function.__globals__.get(target.id))
            elif isinstance(target, ast.Attribute) and is_name(target.value, "self"):
                todo.append(inspect.getattr_static(kind, target.attr, None))


def _has_hooks(module: nn.Module) -> bool:
    """Return whether a module has hooks of the user's, not only those of an observed run."""
    hooks = (*module._forward_hooks.values(), *module._forward_pre_hooks.values())
    return not all(str(getattr(hook, "__module__", "")).startswith("hookcli.") for hook in hooks)


def _takes_gradients(backward: FunctionType) -> bool:
    """Return whether a method is written as the backward of an autograd Function."""
    code = backward.__code__
    names = code.co_varnames[1 : code.co_argcount + bool(code.co_flags & inspect.CO_VARARGS)]
    return is_own(backward) and any("grad" in name for name in names)


def _unread(forward: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[str]:
    """Yield the arguments with tensors that the code of forward does not read."""
    definition = definition_of(forward) if is_own(forward) else None
    if definition is None or inspect.unwrap(forward) is not forward:
        return
    names = [one.arg for one in (*definition.args.posonlyargs, *definition.args.args)]
    given = {**dict(zip(names[1:], args, strict=False)), **kwargs}
    used = {node.id for node in ast.walk(definition) if isinstance(node, ast.Name)}
    if used & {"locals", "vars"}:
        return
    statements = [one for one in definition.body if not isinstance(one, ast.Expr)]
    if not any(isinstance(node, ast.Return) for one in statements for node in ast.walk(one)):
        return
    for name, value in given.items():
        own = name in names and not name.startswith("_")
        if own and name not in used and isinstance(value, torch.Tensor):
            yield name


def observe(requests: Requests, _spec: Spec) -> list[ProbeWatcher]:
    """Return the watcher that reads the source of what ran."""
    return [UserCode(tuple(request.name for request in requests))]
