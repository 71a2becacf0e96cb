"""`root` of a hook: one of the roots of a training, by a pattern of names or by type."""

from __future__ import annotations

from typing import Any

from hookcli.config.parse.containers import ByType, Fields, Key
from hookcli.config.parse.nodes import Node, Problems
from hookcli.config.parse.scalars import Schema, Text
from hookcli.spec.hooks import Match

_EXPECTED = "a pattern of names, or a mapping {type: NAME}"
_HINT = "write `root: netG` or `root: {type: Generator}`"
_FORMS = ByType(
    {
        str: Text(),
        dict: Fields(
            {"type": Key(Text(), "a pattern of the root's type", required=True)},
            expected=_EXPECTED,
            hint=_HINT,
        ),
    },
    _EXPECTED,
    _HINT,
)


class OneRoot:
    """A root, as a condition with a pattern or a type."""

    expected = _EXPECTED

    def read(self, item: Node, problems: Problems) -> Match:
        """Return the condition."""
        value: Any = _FORMS.read(item, problems)
        return Match(pattern=value) if isinstance(value, str) else Match(type=value["type"])

    def schema(self) -> Schema:
        """JSON Schema."""
        return _FORMS.schema()
