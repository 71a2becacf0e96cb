"""Reads a configuration file, and reports all its problems at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hookcli.config.config import Config
from hookcli.config.conflicts import conflicts
from hookcli.config.parse.code_refs import Judge, refuse
from hookcli.config.parse.document import read_document
from hookcli.config.parse.extends import read_layers
from hookcli.config.parse.nodes import Node, Problems
from hookcli.config.sections.hooks import Read
from hookcli.config.sections.model import model_of
from hookcli.config.sections.root import read_root
from hookcli.config.sections.run import run_of
from hookcli.spec.working_folder import may_show


def read_config(path: str, *, code: Judge | None = None) -> Config:
    """Return a configuration, merged with the files that it extends. Paths are absolute.

    With `code` the configuration is of unknown origin. Then every reference to code is a problem,
    and every folder to write to that is not below the working folder, and errors do not show other
    files. `code` returns what a model's source is if it is code, else None.

    Raises
    ------
    RequestError : it cannot be read, or has one problem.
    ProblemsError : it has several problems, in the order of the file.

    """
    problems = Problems() if code is None else Problems(lambda file: may_show(file, path))
    document = read_layers(path, problems)
    return _config(document, problems, str(Path(path).absolute()), code)


def read_text(text: str, name: str) -> Config:
    """Return the configuration in `text`. `name` replaces the file's name in places.

    Paths are relative to the working directory. `extends` has no effect. Raises as read_config.
    """
    problems = Problems()
    with problems.catching():
        return _config(read_document(text.encode(), name, Path.cwd(), 0, problems), problems, None)
    problems.settle()
    raise AssertionError("an error was caught but not noted as a problem")


def _config(
    document: Node, problems: Problems, path: str | None, code: Judge | None = None
) -> Config:
    sections = read_root(document, problems)
    if code is not None:
        refuse(sections, code, problems)
    hooks: tuple[Read, ...] = sections.get("hooks", ())
    for conflict in conflicts(tuple(hook.spec for hook in hooks)):
        item = hooks[conflict.second].item
        problems.add(item.get("kind") or item, conflict.message, conflict.hint)
    problems.settle()
    return Config(
        path=path,
        model=model_of(sections["model"]) if "model" in sections else None,
        run=run_of(sections.get("run", {})),
        hooks=tuple(hook.spec for hook in hooks),
        **_as_they_are(sections),
    )


def _as_they_are(sections: dict[str, Any]) -> dict[str, Any]:
    names = ("inputs", "preset", "libraries", "checks", "suppress", "fail_on")
    return {name: sections[name] for name in names if name in sections}
