"""Options as fields of frozen dataclasses, and the parameters of a command that typer reads.

A parameter of a command that is annotated with such a dataclass, a group of flags, adds all
options of the group, in the order of its fields; groups may contain groups. `lacks` and `changes`
in its `Annotated` declare how the command's options differ from the group's.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

import typer

from hookcli.errors import RequestError
from hookcli.spec.settings import SETTINGS, Form, Setting


def flag_value(setting: Setting, value: Any) -> Any:
    """Return the value of the field of RunSpec; None if the flag was not given.

    Raises
    ------
    RequestError : the value is wrong; the place is the flag as it was typed.
    """
    form = setting.form
    if form is Form.TEXTS:
        return tuple(_parsed(setting, text) for text in value) or None
    if form is Form.TEXT:
        value = _parsed(setting, value)
    elif form is Form.COUNT:
        _check_count(setting.flag, value)
    elif form is Form.NUMBER:
        _check_number(setting, value)
    return value if setting.convert is None else setting.convert(value)


def _parsed(setting: Setting, text: str) -> Any:
    try:
        return setting.parse(text)
    except ValueError as error:
        message, hint = error.args
        raise RequestError(message, place=f"{setting.flag} {text}", hint=hint) from None


def _check_count(flag: str, value: int) -> None:
    from hookcli.spec.inputs import LARGEST

    if value > LARGEST:
        raise RequestError(
            f"{flag} must be at most {LARGEST}, got {value}",
            place=f"{flag} {value}",
            hint=f"pass a smaller number, as in `{flag} 2`",
        )


def _check_number(setting: Setting, value: float) -> None:
    if not 0 < value <= setting.most:
        raise RequestError(
            f"{setting.flag} must be above 0 and at most {setting.most:g}, got {value:g}",
            place=f"{setting.flag} {value:g}",
            hint=f"pass `{setting.flag} 60`",
        )


# The sections of a help page, in their order. The last one also has --help.
Section: TypeAlias = Literal[
    "Model", "Batch", "Run", "Hooks", "Checks", "Comparison", "Distributed", "Output", "General"
]
SECTIONS: tuple[Section, ...] = get_args(Section)

_OPTION = "option"  # the key of a field's metadata
_REPEATED = tuple[str, ...]  # the type of an option that may be repeated
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


@dataclass(frozen=True, slots=True)
class RunField:
    """The field of RunSpec that an option sets, and the function that converts the typed value."""

    name: str | None  # None: the option's own name
    parse: Callable[[Any], Any] | None


@dataclass(frozen=True, slots=True)
class Option:
    """One option, or an argument if it has no names.

    `default` is the default that the help shows if the value itself is None, "not given".
    `section` is where the help shows it. `complete` gets an incomplete value and returns the values
    that a shell may offer; choices need none.
    """

    names: tuple[str, ...]
    text: str
    metavar: str | None = None
    default: str | None = None
    choices: tuple[str, ...] | None = None
    least: float | None = None
    most: float | None = None
    run: RunField | None = None
    section: Section | None = None
    complete: Callable[[str], Iterable[Any]] | None = None

    def parameter(self) -> Any:
        """Return typer's description of the parameter."""
        text = self.text if self.default is None else f"{self.text}  [default: {self.default}]"
        if not self.names:
            return typer.Argument(metavar=self.metavar, help=text, autocompletion=self.complete)
        return typer.Option(
            *self.names,
            metavar=self.metavar,
            help=text,
            min=self.least,
            max=self.most,
            rich_help_panel=self.section,
            autocompletion=self.complete,
        )


def option(*names: str, text: str, unset: Any = None, **more: Any) -> Any:
    """Return a field of a group of flags: an option, whose value is `unset` if it is not given."""
    return field(default=unset, metadata={_OPTION: Option(names, text, **more)})


def run_option(name: str, **more: Any) -> Any:
    """Return the option of a setting, which sets a field of RunSpec.

    None is "not given": the configuration decides then, or else the default of RunSpec. So does the
    parsed value if it is None. A `parse` in `more` replaces the parser of the setting.
    """
    setting = SETTINGS[name]
    parse = more.pop("parse", None) or functools.partial(flag_value, setting)
    return option(
        setting.flag,
        text=setting.text,
        unset=() if setting.form is Form.TEXTS else None,
        metavar=setting.metavar,
        default=setting.default,
        section=setting.section,
        least=setting.least if setting.form is Form.COUNT else None,
        run=RunField(setting.field or setting.name, parse),
        **more,
    )


def run_input(*names: str, parse: Callable[[Any], Any], **more: Any) -> Any:
    """Return an option that sets the field of RunSpec of its own name, without a setting."""
    return option(*names, run=RunField(None, parse), **more)


def argument(text: str, **more: Any) -> Any:
    """Return a field of a group of flags: a required argument."""
    return field(metadata={_OPTION: Option((), text, **more)})


def option_names(*groups: type[Any]) -> frozenset[str]:
    """Return the names of the options of groups of flags, such as "--steps"."""
    fields = (item for group in groups for item in dataclasses.fields(group))
    return frozenset(
        name for item in fields if _OPTION in item.metadata for name in item.metadata[_OPTION].names
    )


@dataclass(frozen=True, slots=True)
class Variation:
    """How a command's flags differ from those of their group."""

    lacks: frozenset[str] = frozenset()
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __or__(self, other: Variation) -> Variation:
        return Variation(self.lacks | other.lacks, {**self.changes, **other.changes})


def lacks(*names: str) -> Variation:
    """Return the variation of a command without these options or groups, named by their fields."""
    return Variation(lacks=frozenset(names))


def changes(name: str, **values: Any) -> Variation:
    """Return the variation of a command whose option of this field has other values of `Option`."""
    return Variation(changes={name: values})


def flattened(command: Callable[..., int]) -> Callable[..., int]:
    """Return the command with a parameter for each option instead of one for each group.

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
        raise LookupError(f"unknown options of {group.__name__}: {', '.join(sorted(unknown))}")
    for row in rows:
        if variation.lacks.isdisjoint(row.path):
            yield row.parameter(variation.changes.get(row.name, {}))


@dataclass(frozen=True, slots=True)
class _Row:
    """An option with its type, its default and the names of the fields that lead to it."""

    path: tuple[str, ...]
    type: Any
    option: Option
    default: Any

    @property
    def name(self) -> str:
        return self.path[-1]

    def parameter(self, changed: Mapping[str, Any]) -> inspect.Parameter:
        """Return the parameter of the function that typer reads."""
        option, hint, default = dataclasses.replace(self.option, **changed), self.type, self.default
        if option.choices is not None:
            choices: Any = Literal.__getitem__(option.choices)  # only known at run time
            hint = choices | None if default is None else choices
        elif hint == _REPEATED and default is inspect.Parameter.empty:
            hint = list[str]
        elif hint == _REPEATED:
            hint, default = list[str] | None, None
        annotation = Annotated[hint, option.parameter()]  # type: ignore[valid-type]  # at run time
        return inspect.Parameter(self.name, _KEYWORD, annotation=annotation, default=default)


def _options(group: type, path: tuple[str, ...] = ()) -> Iterator[_Row]:
    """Yield the options of a group and of the groups in it, in the order of the fields."""
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
    """Return the flags of a group from typer's values; options that the command lacks are unset."""
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
    """Yield (name, field of RunSpec, typed value) of each given option that sets such a field."""
    for dataclass_field in dataclasses.fields(flags):
        value = getattr(flags, dataclass_field.name)
        if _OPTION not in dataclass_field.metadata:
            yield from run_options(value)
        elif value is not None and (target := dataclass_field.metadata[_OPTION].run) is not None:
            yield dataclass_field.name, target, value
