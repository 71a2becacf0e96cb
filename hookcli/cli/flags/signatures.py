"""Options as fields of frozen dataclasses, and the parameters of a command that typer reads.

A command's parameter that is annotated with such a dataclass, a group of flags, stands for all of
the group's options: in the order of its fields, groups within it included. `lacks` and `changes`
beside it in `Annotated` say in what the command differs.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

_OPTION = "option"  # the key of a field's metadata
_REPEATED = tuple[str, ...]  # the type of an option that may be repeated
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


@dataclass(frozen=True, slots=True)
class RunField:
    """The field of RunSpec that an option sets, and what makes its value of the typed one."""

    name: str | None  # None: the option's own
    parse: Callable[[Any], Any] | None


@dataclass(frozen=True, slots=True)
class Option:
    """One option, or an argument where it has no names.

    `default` is told by the help where the value itself does not say: None is "not given" then.
    """

    names: tuple[str, ...]
    text: str
    metavar: str | None = None
    default: str | None = None
    choices: tuple[str, ...] | None = None
    least: float | None = None
    most: float | None = None
    run: RunField | None = None

    def parameter(self) -> Any:
        """What typer reads of it."""
        text = self.text if self.default is None else f"{self.text}  [default: {self.default}]"
        if not self.names:
            return typer.Argument(metavar=self.metavar, help=text)
        return typer.Option(
            *self.names, metavar=self.metavar, help=text, min=self.least, max=self.most
        )


def option(*names: str, text: str, unset: Any = None, **more: Any) -> Any:
    """A field of a group of flags: an option of these names, `unset` where it is not given."""
    return field(default=unset, metadata={_OPTION: Option(names, text, **more)})


def run_option(
    *names: str,
    text: str,
    sets: str | None = None,
    parse: Callable[[Any], Any] | None = None,
    **more: Any,
) -> Any:
    """An option that sets the field of RunSpec of its own name, or `sets`, with what it parses to.

    None is "not given": the configuration decides then, and RunSpec's default after it.
    """
    return option(*names, text=text, run=RunField(sets, parse), **more)


def argument(text: str, **more: Any) -> Any:
    """A field of a group of flags: an argument that must be given."""
    return field(metadata={_OPTION: Option((), text, **more)})


@dataclass(frozen=True, slots=True)
class Variation:
    """In what a command's flags differ from their group's."""

    lacks: frozenset[str] = frozenset()
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __or__(self, other: Variation) -> Variation:
        return Variation(self.lacks | other.lacks, {**self.changes, **other.changes})


def lacks(*names: str) -> Variation:
    """A command without these options, or groups, by the names of their fields."""
    return Variation(lacks=frozenset(names))


def changes(name: str, **values: Any) -> Variation:
    """A command whose option of this field has other values of `Option`."""
    return Variation(changes={name: values})


def flattened(command: Callable[..., int]) -> Callable[..., int]:
    """The command with a parameter for each option, in place of those for groups of flags.

    Raises
    ------
    LookupError : a variation names an option that its group does not have.
    """
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, type] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        hint = hints[name]
        kind, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        if dataclasses.is_dataclass(kind) and isinstance(kind, type):
            groups[name] = kind
            parameters += _parameters(kind, functools.reduce(operator.or_, notes, Variation()))
        else:
            parameters.append(parameter.replace(kind=_KEYWORD, annotation=hint))

    def call(**values: Any) -> int:
        made = {name: _made(group, values) for name, group in groups.items()}
        rest = {name: value for name, value in values.items() if name in hints}
        return command(**{**rest, **made})

    call.__doc__ = command.__doc__
    call.__annotations__ = {item.name: item.annotation for item in parameters}
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # PEP 362
    return call


def _parameters(group: type, variation: Variation) -> Iterator[inspect.Parameter]:
    rows = list(_options(group))
    unknown = (variation.lacks | variation.changes.keys()) - {
        name for row in rows for name in row.path
    }
    if unknown:
        raise LookupError(f"{group.__name__} has no option {', '.join(sorted(unknown))}")
    for row in rows:
        if variation.lacks.isdisjoint(row.path):
            yield row.parameter(variation.changes.get(row.name, {}))


@dataclass(frozen=True, slots=True)
class _Row:
    """An option, its type, and the names of the fields that lead to it."""

    path: tuple[str, ...]
    type: Any
    option: Option
    default: Any

    @property
    def name(self) -> str:
        return self.path[-1]

    def parameter(self, changed: Mapping[str, Any]) -> inspect.Parameter:
        """The parameter that typer reads."""
        option, hint, default = dataclasses.replace(self.option, **changed), self.type, self.default
        if option.choices is not None:
            choices: Any = Literal.__getitem__(option.choices)  # known at run time only
            hint = choices | None if default is None else choices
        elif hint == _REPEATED:
            hint, default = list[str] | None, None
        annotation = Annotated[hint, option.parameter()]  # type: ignore[valid-type]  # at run time
        return inspect.Parameter(self.name, _KEYWORD, annotation=annotation, default=default)


def _options(group: type, path: tuple[str, ...] = ()) -> Iterator[_Row]:
    """The options of a group, those of groups within it in their place."""
    hints = get_type_hints(group)
    for dataclass_field in dataclasses.fields(group):
        hint, here = hints[dataclass_field.name], (*path, dataclass_field.name)
        if _OPTION not in dataclass_field.metadata:
            yield from _options(hint, here)
            continue
        default = (
            inspect.Parameter.empty
            if dataclass_field.default is dataclasses.MISSING
            else dataclass_field.default
        )
        yield _Row(here, hint, dataclass_field.metadata[_OPTION], default)


def _made(group: type, values: Mapping[str, Any]) -> Any:
    """The flags of a group, from the values that typer read; of options that it lacks, unset."""
    hints = get_type_hints(group)
    flags: dict[str, Any] = {}
    for dataclass_field in dataclasses.fields(group):
        if _OPTION not in dataclass_field.metadata:
            flags[dataclass_field.name] = _made(hints[dataclass_field.name], values)
        elif dataclass_field.name in values:
            value = values[dataclass_field.name]
            flags[dataclass_field.name] = (
                tuple(value or ()) if hints[dataclass_field.name] == _REPEATED else value
            )
    return group(**flags)


def run_options(flags: Any) -> Iterator[tuple[str, RunField, Any]]:
    """(name, field of RunSpec, typed value) of each option that sets such a field and is given."""
    for dataclass_field in dataclasses.fields(flags):
        value = getattr(flags, dataclass_field.name)
        if _OPTION not in dataclass_field.metadata:
            yield from run_options(value)
        elif value is not None and (target := dataclass_field.metadata[_OPTION].run) is not None:
            yield dataclass_field.name, target, value
