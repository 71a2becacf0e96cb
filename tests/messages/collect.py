"""Collects every message, hint and note; `python -m tests.messages.collect` prints them all.

What is collected is what is passed to a parameter called `message`, `hint` or `note`, wherever in
the package: the parameters of errors, findings, conflicts and of the functions that make them.
"""

from __future__ import annotations

import ast
import functools
import re
from dataclasses import dataclass

from tests.conftest import ROOT
from tests.messages.source import CLOSE, OPEN, Module, Package, Scope

ROLES = frozenset({"message", "hint", "hints"})
VALUE = re.compile(f"{OPEN}[^{CLOSE}]*{CLOSE}")


@dataclass(frozen=True, slots=True, order=True)
class Message:
    """A text with placeholders, its role, where it is given, and the module that writes it."""

    place: str
    role: str
    text: str
    home: str

    @property
    def words(self) -> list[str]:
        """Its words; a placeholder is one."""
        return VALUE.sub("X", self.text).split()

    @property
    def passed_on(self) -> bool:
        """Whether nothing but a placeholder is known of it."""
        return VALUE.fullmatch(self.text) is not None


@functools.cache
def messages() -> tuple[Message, ...]:
    """All of the package, in the order of its files."""
    package = Package(ROOT / "hookcli")
    collected = set()
    given = [
        (module, role, value)
        for module, _, role, value in package.of_parameter(ROLES)
        if not _is_forwarded(module, value, role)
    ]
    given += [(module, "note", value) for module, value in _notes(package)]
    for module, role, value in given:
        for written, expression in package.expressions(module, value):
            home = package.home(written, expression)
            for text in package.texts(Scope(written), expression):
                collected.add(Message(_place(module, value), role, text, home))
    return tuple(sorted(collected))


def _notes(package: Package):
    """What `note` is called with, and what is appended to a list of notes."""
    for module, call in package.calls["note"] + package.calls["append"]:
        receiver = call.func
        if not isinstance(receiver, ast.Attribute) or not call.args:
            continue
        if receiver.attr == "append" and not ast.unparse(receiver.value).endswith("notes"):
            continue
        if receiver.attr == "note" and len(call.args) != 1:
            continue
        yield module, call.args[0]


def _is_forwarded(module: Module, value: ast.expr, role: str) -> bool:
    """Whether it is a parameter of the same role, whose arguments are collected themselves."""
    return (
        isinstance(value, ast.Name)
        and value.id == role
        and any(
            role in {argument.arg for argument in scope.args.args + scope.args.kwonlyargs}
            for scope in module.enclosing(value)
            if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef))
        )
    )


def _place(module: Module, value: ast.expr) -> str:
    return f"{module.path.relative_to(ROOT)}:{value.lineno}"


if __name__ == "__main__":
    for message in messages():
        print(f"{message.place}: {message.role}: {message.text}")
