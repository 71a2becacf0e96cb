"""Build a module from what the user named: arguments, `{call: …}` objects, default configs."""

from __future__ import annotations

import importlib
import inspect
import typing
from collections.abc import Callable
from typing import Any

from torch import nn

from hookcli.errors import ModelError, RequestError
from hookcli.known_failures import hint_for
from hookcli.models import places
from hookcli.models.failures import TRACEBACK_HINT, failure_of
from hookcli.models.python.importing import import_file
from hookcli.sentences import CALL_HINT, unknown
from hookcli.spec.request import Argument
from hookcli.text import nearest, pluralize, try_instead

MODULE_HINT = "name an nn.Module, a class, or a function that returns an nn.Module"


def _signature(target: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(target)
    except (TypeError, ValueError):
        return None


def _required(signature: inspect.Signature) -> list[str]:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        p.name
        for p in signature.parameters.values()
        if p.default is inspect.Parameter.empty and p.kind not in kinds
    ]


def _default_config(target: Callable[..., Any], required: list[str]) -> Any:
    """Return the default config class (Hugging Face), if only `config` is required."""
    if required == ["config"] and isinstance(target, type):
        kind = getattr(target, "config_class", None)
        return kind if isinstance(kind, type) else None
    return None


def can_build(target: Callable[..., Any], args: tuple[Argument, ...]) -> bool:
    """Whether `target` accepts `args`."""
    signature = _signature(target)
    if signature is None:
        return True
    try:
        signature.bind(*(a for a in args if a.name is None), **{a.name: a for a in args if a.name})
    except TypeError:
        return not args and _default_config(target, _required(signature)) is not None
    return True


def _with_calls(value: Any, text: str) -> Any:
    """Replace each `{call: …}` in a plain value by the object that it returns."""
    if isinstance(value, list):
        return [_with_calls(v, text) for v in value]
    if not isinstance(value, dict):
        return value
    if "call" not in value:
        return {k: _with_calls(v, text) for k, v in value.items()}
    where, arguments = value["call"], value.get("args", {})
    other_keys = [str(k) for k in value if k not in {"call", "args"}]
    if (
        not isinstance(where, str)
        or ":" not in where
        or other_keys
        or not isinstance(arguments, list | dict)
    ):
        problem = unknown("key", other_keys[0]) if other_keys else "malformed `call`"
        raise RequestError(problem, place=f"--arg {text}", hint=CALL_HINT)
    function = _named(where, text)
    arguments = _with_calls(arguments, text)
    try:
        return function(**arguments) if isinstance(arguments, dict) else function(*arguments)
    except Exception as error:  # noqa: BLE001  # the user's code may raise anything
        failure = failure_of(error, "build")
        raise ModelError(
            f"{where} failed: {failure.type}: {failure.message}",
            place=f"--arg {text}",
            hint="check the arguments of this call",
            details=failure.details,
        ) from None


def _named(where: str, text: str) -> Callable[..., Any]:
    module_name, _, attr = where.rpartition(":")
    try:
        if module_name.endswith(".py"):
            value: Any = import_file(places.START / module_name)
        else:
            value = importlib.import_module(module_name)
        for step in attr.split("."):
            value = getattr(value, step)
    except (ImportError, AttributeError, OSError, ValueError, TypeError) as error:  # "", ".a", NUL
        raise RequestError(
            f"{where} not found: {error}", place=f"--arg {text}", hint=CALL_HINT
        ) from None
    if not callable(value):
        raise RequestError(
            f"{where} must be callable, got {type(value).__name__}",
            place=f"--arg {text}",
            hint=CALL_HINT,
        )
    return value  # type: ignore[no-any-return]


def _as_typed(name: str, target: Callable[..., Any], source: str) -> str:
    """Return the `--arg` of a parameter, with a `{call: …}` if its type is a class to build."""
    kind = _hints(target).get(name)
    called = _call_of(kind, getattr(target, "__module__", ""), source)
    return f"--arg {name}=…" if called is None else f"--arg '{name}={called}'"


def _call_of(kind: Any, module: str, source: str, depth: int = 0) -> str | None:
    """Return `{call: FILE:Class, args: {field: …}}` with the required fields of a class.

    None if it is not a class of Python source that can be called so.
    """
    is_users = isinstance(kind, type) and not kind.__module__.startswith(_NOT_CONFIGS)
    if not is_users or depth > _DEEPEST or inspect.isabstract(kind):
        return None
    signature = _signature(kind)
    if signature is None:
        return None
    file = source if source.endswith(".py") else source.rpartition(":")[0]
    where = file if kind.__module__ == module and file.endswith(".py") else kind.__module__
    hints = _hints(kind)
    fields = [
        f"{name}: {_call_of(hints.get(name), module, source, depth + 1) or '…'}"
        for name in _required(signature)
    ]
    arguments = f", args: {{{', '.join(fields)}}}" if fields else ""
    return f'{{call: "{where}:{kind.__qualname__}"{arguments}}}'


_DEEPEST = 3  # configurations inside configurations
_NOT_CONFIGS = ("builtins", "torch", "typing", "collections", "pathlib", "numpy", "enum")


def _hints(target: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of a callable's parameters; none that cannot be resolved."""
    function = vars(target).get("__init__") if isinstance(target, type) else target
    try:
        return typing.get_type_hints(function)
    except Exception:  # noqa: BLE001  # annotations are the user's code
        return {}


def _misfit(
    target: Callable[..., Any],
    label: str,
    signature: inspect.Signature,
    args: tuple[Argument, ...],
    problem: str,
    source: str,
) -> RequestError:
    names = [p.name for p in signature.parameters.values()]
    accepted = ", ".join(str(p) for p in signature.parameters.values())
    hint = f"choose from {accepted}" if accepted else f"omit `--arg`: {label} accepts no arguments"
    anything = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    for argument in args:
        if argument.name and argument.name not in names and not anything:
            near = nearest(argument.name, names, cutoff=0.6)
            return RequestError(
                f"unknown argument '{argument.name}' of {label}",
                place=f"--arg {argument.text}",
                hint=try_instead(near, hint),
            )
    given = {a.name for a in args if a.name}
    count = sum(a.name is None for a in args)
    missing = [n for n in _required(signature)[count:] if n not in given]
    if missing:
        return RequestError(
            f"{label} requires {pluralize(len(missing), 'argument')} {', '.join(missing)}",
            place=source,
            hint=f"pass `{' '.join(_as_typed(name, target, source) for name in missing)}`",
        )
    place = f"--arg {args[-1].text}" if args else source
    return RequestError(f"{label}: {problem}", place=place, hint=hint)


def build(target: Any, label: str, args: tuple[Argument, ...], source: str) -> nn.Module:
    """Return the module that `target` is, or that it returns when called with `args`.

    Raises
    ------
    RequestError : the arguments do not fit, or the result is not a module.
    ModelError : the constructor failed.

    """
    if isinstance(target, nn.Module):
        if args:
            raise RequestError(
                f"{label} is an nn.Module instance, which accepts no arguments",
                place=f"--arg {args[0].text}",
                hint="name its class, or omit `--arg`",
            )
        return target
    if not callable(target):
        raise RequestError(
            f"{label} must be an nn.Module, a class or a function, got {type(target).__name__}",
            place=source,
            hint=MODULE_HINT,
        )
    module = _construct(target, label, args, source)
    if not isinstance(module, nn.Module):
        raise RequestError(
            f"{label} must return an nn.Module, got {type(module).__name__}",
            place=source,
            hint=MODULE_HINT,
        )
    return module


def _construct(
    target: Callable[..., Any], label: str, args: tuple[Argument, ...], source: str
) -> Any:
    positional = [_with_calls(a.value, a.text) for a in args if a.name is None]
    named: dict[str, Any] = {a.name: _with_calls(a.value, a.text) for a in args if a.name}
    signature = _signature(target)
    if signature is not None:
        try:
            signature.bind(*positional, **named)
        except TypeError as error:
            config = None if args else _default_config(target, _required(signature))
            if config is None:
                raise _misfit(target, label, signature, args, str(error), source) from None
            named = {"config": config()}
    try:
        return target(*positional, **named)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  # also SystemExit: the constructor failed
        failure = failure_of(error, "build")
        raise ModelError(
            f"cannot build {label}: {failure.type}: {failure.message}",
            place=failure.place or source,
            hint=hint_for(f"{failure.type}: {failure.message}") or TRACEBACK_HINT,
            details=failure.details,
        ) from None
