"""Help pages: the usual options, or all in sections; commands in groups; examples at the end.

typer has this only for pages that rich renders, and importing rich takes longer than a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from typer.core import TyperCommand, TyperGroup

from hookcli.cli.flags.signatures import SECTIONS
from hookcli.cli.help.short_help import HELP, HELP_ALL, METAVARS, SHORT, TEXTS

# (what the command shows, the command): a command module has them as EXAMPLES.
Examples: TypeAlias = Sequence[tuple[str, str]]
ALL = "hookcli.help_all"  # the key of a context's meta
_GENERAL = SECTIONS[-1]  # the section of --help, which typer adds


def examples_text(examples: Examples) -> str:
    """Return examples as they are printed: a comment, then the command on a line that is whole."""
    return "\n".join(f"# {text}\n{command}" for text, command in examples)


def _section(parameter: Any) -> str:
    return getattr(parameter, "rich_help_panel", None) or _GENERAL


def _write(formatter: Any, heading: str, rows: Sequence[tuple[str, str]]) -> None:
    if rows:
        with formatter.section(heading):
            formatter.write_dl(rows)


def _write_lines(formatter: Any, heading: str, text: str) -> None:
    """Write lines as they are: a command that is wrapped cannot be copied."""
    formatter.write_paragraph()
    formatter.write_heading(heading)
    for line in text.splitlines():
        formatter.write(f"  {line}\n")


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _argument_name(parameter: Any) -> str:
    """Return `MODEL`, or `{config|report|diff}` if the argument is a choice."""
    if parameter.metavar is None and parameter.type_descriptor.is_choice:
        return "{" + "|".join(map(str, parameter.type_descriptor.choices)) + "}"
    return str(parameter.metavar or parameter.name)


def _fitting(record: tuple[str, str], width: int) -> tuple[str, str]:
    """Return a row of a help page; choices that are too long for a line follow in the text."""
    name, text = record
    option, separator, choices = name.partition(" <")
    if not separator or len(name) + 2 <= width:
        return record
    listed = ", ".join(choices.rstrip(">").split("|"))
    return f"{option} <KEY>", f"{text} KEY is one of {listed}."


class SectionedCommand(TyperCommand):
    """A command whose help page has its options in sections, and its epilog as examples."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return `[OPTIONS]` and the arguments; an optional argument is in brackets."""
        pieces = [self.options_metavar or ""]
        for parameter in filter(_is_argument, self.get_params(ctx)):
            name = _argument_name(parameter)
            pieces.append(name if parameter.required else f"[{name}]")
        return pieces

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options that most people use; all with --help-all."""
        if self.name is not None and self.name in SHORT and not ctx.meta.get(ALL):
            self._format_short(ctx, formatter, SHORT[self.name])
        else:
            self._format_all(ctx, formatter)

    def _format_short(self, ctx: Any, formatter: Any, names: Sequence[str]) -> None:
        parameters: dict[str, Any] = {item.name: item for item in self.get_params(ctx)}
        arguments: list[tuple[str, str]] = []
        options: list[tuple[str, str]] = []
        for parameter in filter(_is_argument, parameters.values()):
            text = TEXTS.get(parameter.name) or parameter.get_help_record(ctx)[1]
            arguments.append((_argument_name(parameter), text.removesuffix("[required]").rstrip()))
        for name in names:
            shown = parameters[name].get_help_record(ctx)[0]
            if name in METAVARS:
                shown = f"{shown.partition(' <')[0]} {METAVARS[name]}"
            options.append((shown, TEXTS[name]))
        options += [("-h, --help", HELP), ("--help-all", HELP_ALL)]
        _write(formatter, "Arguments", arguments)
        _write(formatter, "Options", options)

    def _format_all(self, ctx: Any, formatter: Any) -> None:
        arguments: list[tuple[str, str]] = []
        sections: dict[str, list[tuple[str, str]]] = {name: [] for name in SECTIONS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            if _is_argument(parameter):
                text = record[1].removesuffix("[required]").rstrip()
                arguments.append((_argument_name(parameter), text))
            else:
                sections[_section(parameter)].append(_fitting(record, formatter.width))
        _write(formatter, "Arguments", arguments)
        for name, rows in sections.items():
            _write(formatter, name, rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # typer's signature
        """Write the examples."""
        if self.epilog:
            _write_lines(formatter, "Examples", self.epilog)


class GroupedCommands(TyperGroup):
    """The root, whose help page has the commands in groups, and its epilog as examples."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each group of commands."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        widest = max((len(name) for name, _ in commands), default=0)
        groups: dict[str, list[tuple[str, str]]] = {}
        for name, command in commands:
            if command is not None:
                text = command.get_short_help_str(formatter.width - widest - 6)
                groups.setdefault(_section(command), []).append((name.ljust(widest), text))
        for heading, rows in groups.items():
            _write(formatter, heading, rows)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, then the options: the commands are what a reader looks for."""
        self.format_commands(ctx, formatter)
        records = [parameter.get_help_record(ctx) for parameter in self.get_params(ctx)]
        _write(formatter, "Options", [record for record in records if record is not None])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # typer's signature
        """Write the examples, and where the documentation is."""
        _write_lines(formatter, "Examples", self.epilog or "")
        _write_lines(formatter, "Documentation", DOCUMENTATION)


DOCUMENTATION = "https://github.com/hookcli/hookcli/tree/main/docs (docs/ in the repository)"


def grouped(groups: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return the group of each command."""
    return {name: group for group, names in groups.items() for name in names}
