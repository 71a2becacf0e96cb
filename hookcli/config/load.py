"""A configuration file → Config, or all that is wrong with it at once."""

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
    """What a configuration says, with what it extends. Paths come out absolute.

    With `code` it is a stranger's: every reference to code is a problem, and every folder to write
    to that is not below the working folder; errors show no other files. `code` judges what a
    model's source is, and gives None where that is none.

    Raises
    ------
    RequestError : it cannot be read, or one thing is wrong with it.
    ProblemsError : several things are; all are said, in the order of the file.

    """
    problems = Problems() if code is None else Problems(lambda file: may_show(file, path))
    document = read_layers(path, problems)
    return _config(document, problems, str(Path(path).absolute()), code)


def read_text(text: str, name: str) -> Config:
    """The same for text that is at hand; `name` stands for the file in places.

    Paths are relative to the working directory; `extends` is not followed. Raises as read_config.
    """
    problems = Problems()
    with problems.catching():
        return _config(read_document(text.encode(), name, Path.cwd(), 0, problems), problems, None)
    problems.settle()
    raise AssertionError("a fault that was caught is a problem")


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
