"""Reads a configuration file, and reports all its problems at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hookcli.config.config import Config
from hookcli.config.conflicts import conflicts
from hookcli.config.parse import paths
from hookcli.config.parse.code_refs import Judge, refuse
from hookcli.config.parse.document import INIT_HINT, LARGEST, read_document
from hookcli.config.parse.nodes import Mark, Node, NodeError, Problems, with_value
from hookcli.config.parse.scalars import reject
from hookcli.config.sections.hooks import Read
from hookcli.config.sections.model import model_of
from hookcli.config.sections.root import read_root
from hookcli.config.sections.run import run_of
from hookcli.plain_files import read_bytes
from hookcli.sentences import cannot_read, missing_file
from hookcli.spec.working_folder import may_show

_LISTS = ("hooks", "checks", "suppress", "libraries")  # the base's first, then the file's own
_MOST = 16  # files in a chain


def read_layers(path: str, problems: Problems) -> Node:
    """Return the document at `path`, merged over those that it extends; if broken, an empty one.

    Mappings merge key by key. The lists `hooks`, `checks`, `suppress` and `libraries` have the
    base's items first, then the file's own. Any other value of the file replaces the base's.
    """
    top = Node({}, Mark(path, Path(path).absolute().parent, 0, 1, 0, ""), "")
    with problems.catching():
        return _layer(top, path, (), problems)
    return top


def _layer(named: Node, path: str, above: tuple[str, ...], problems: Problems) -> Node:
    data = _bytes(named, path)
    real = os.path.realpath(path)
    if real in above:
        chain = " → ".join(Path(item).name for item in (*above[above.index(real) :], real))
        raise NodeError(named, f"circular extends: {chain}", "remove one `extends`")
    if len(above) >= _MOST:
        raise NodeError(named, f"more than {_MOST} files in a chain of extends", "merge some files")
    own = read_document(data, path, Path(path).absolute().parent, len(above), problems)
    extends = own.get("extends")
    if extends is None:
        return own
    own = with_value(own, {key: item for key, item in own.value.items() if key != "extends"})
    with problems.catching():
        if not isinstance(extends.value, str):
            reject(extends, "the name of a file", "write `extends: base.yaml`")
        paths.existing(extends, extends.value)
        base = os.path.normpath(Path(path).parent / extends.value)
        return _merged(_layer(extends, base, (*above, real), problems), own)
    return own


def _bytes(named: Node, path: str) -> bytes:
    try:
        return read_bytes(path, LARGEST)
    except FileNotFoundError as error:
        if os.path.islink(path):  # noqa: PTH114  # never raises
            raise NodeError(named, cannot_read(path, error.strerror), "pass a YAML file") from None
        raise NodeError(named, missing_file(path), INIT_HINT) from None
    except OSError as error:  # a directory, no permission; a NUL in the name
        why = error.strerror or str(error)
        raise NodeError(named, cannot_read(path, why), "pass a YAML file") from None


def _merged(base: Node, own: Node) -> Node:
    """Return the file's own document merged over its base; a base that is wrong, to report it."""
    if not isinstance(base.value, dict):
        return base
    base = with_value(base, {**base.value, **_model_as_mapping(base, own)})
    joined = {
        key: _joined(base.value[key], own.value[key])
        for key in _LISTS
        if key in base.value and key in own.value
    }
    return with_value(own, {**_over(base, own).value, **joined})


def _joined(base: Node, own: Node) -> Node:
    """Return both lists as one, or the value that is not a list, so that it is reported."""
    wrong = [node for node in (base, own) if not isinstance(node.value, list)]
    return wrong[0] if wrong else with_value(own, [*base.value, *own.value])


def _over(base: Node, own: Node) -> Node:
    """Return mappings merged key by key. Any other value replaces the base's."""
    if not (isinstance(base.value, dict) and isinstance(own.value, dict)):
        return own
    merged = dict(base.value)
    for key, child in own.value.items():
        merged[key] = _over(merged[key], child) if key in merged else child
    return with_value(own, merged)


def _model_as_mapping(base: Node, own: Node) -> dict[str, Node]:
    """Return a base's `model: X` as {source: X}, if the file's own `model` is a mapping."""
    model, mine = base.get("model"), own.get("model")
    if model is None or mine is None or not isinstance(mine.value, dict):
        return {}
    return {
        "model": model if isinstance(model.value, dict) else with_value(model, {"source": model})
    }


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
