"""A configuration with what it extends, as one document."""

from __future__ import annotations

import os
from pathlib import Path

from hookcli.config.parse import paths
from hookcli.config.parse.document import LARGEST, read_document
from hookcli.config.parse.nodes import Mark, Node, NodeError, Problems, said, with_value
from hookcli.plain_files import read_bytes

_LISTS = ("hooks", "checks", "suppress", "libraries")  # the base's first, then the file's own
_MOST = 16  # files in a chain


def read_layers(path: str, problems: Problems) -> Node:
    """The document at `path`, merged over those that it extends; an empty one where it is broken.

    Mappings merge key by key; `hooks`, `checks`, `suppress` and `libraries` are the base's, then
    the file's own; all else is the file's own where it says it.
    """
    top = Node({}, Mark(path, Path(path).absolute().parent, 0, 1, 0, ""), "")
    with problems.catching():
        return _layer(top, path, (), problems)
    return top


def _layer(asked: Node, path: str, above: tuple[str, ...], problems: Problems) -> Node:
    data = _bytes(asked, path)
    real = os.path.realpath(path)
    if real in above:
        chain = " → ".join(Path(item).name for item in (*above[above.index(real) :], real))
        raise NodeError(asked, f"the files extend each other: {chain}", "take one extends out")
    if len(above) >= _MOST:
        raise NodeError(asked, f"more than {_MOST} files extend each other", "merge some")
    own = read_document(data, path, Path(path).absolute().parent, len(above), problems)
    extends = own.get("extends")
    if extends is None:
        return own
    own = with_value(own, {key: item for key, item in own.value.items() if key != "extends"})
    with problems.catching():
        if not isinstance(extends.value, str):
            hint = "write extends: base.yaml; a base may extend another"
            raise NodeError(extends, f"extends wants a file's name, not {said(extends)}", hint)
        paths.existing(extends, extends.value)
        base = os.path.normpath(Path(path).parent / extends.value)
        return _merged(_layer(extends, base, (*above, real), problems), own)
    return own


def _bytes(asked: Node, path: str) -> bytes:
    try:
        return read_bytes(path, LARGEST)
    except FileNotFoundError:
        raise NodeError(
            asked, f"there is no file {path}", "hookcli init MODEL writes one to start from"
        ) from None
    except OSError as error:  # a directory, no permission; a NUL in the name
        why = error.strerror or str(error)
        raise NodeError(asked, f"{path} cannot be read: {why}", "name a YAML file") from None


def _merged(base: Node, own: Node) -> Node:
    """The file's own document over that of its base."""
    if not (isinstance(base.value, dict) and isinstance(own.value, dict)):
        return own
    base = with_value(base, {**base.value, **_model_as_mapping(base, own)})
    joined = {
        key: _joined(base.value[key], own.value[key])
        for key in _LISTS
        if key in base.value and key in own.value
    }
    return with_value(own, {**_over(base, own).value, **joined})


def _joined(base: Node, own: Node) -> Node:
    """Both lists; what is none stays alone, so that it is said."""
    wrong = [node for node in (base, own) if not isinstance(node.value, list)]
    return wrong[0] if wrong else with_value(own, [*base.value, *own.value])


def _over(base: Node, own: Node) -> Node:
    """Mappings key by key; anything else replaces what the base has."""
    if not (isinstance(base.value, dict) and isinstance(own.value, dict)):
        return own
    merged = dict(base.value)
    for key, child in own.value.items():
        merged[key] = _over(merged[key], child) if key in merged else child
    return with_value(own, merged)


def _model_as_mapping(base: Node, own: Node) -> dict[str, Node]:
    """A base's `model: X` as {source: X}, where the file's own is a mapping."""
    model, mine = base.get("model"), own.get("model")
    if model is None or mine is None or not isinstance(mine.value, dict):
        return {}
    return {
        "model": model if isinstance(model.value, dict) else with_value(model, {"source": model})
    }
