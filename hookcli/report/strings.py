"""Strings of the user's that UTF-8 cannot hold."""

from __future__ import annotations

import re

# In JSON text with ASCII escapes: half of a surrogate pair, not itself behind a backslash.
_LONE = re.compile(
    r"(?<!\\)((?:\\\\)*)"
    r"(?:(\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|\\(ud[89a-f][0-9a-f]{2}))"
)


def spell_surrogates(json_text: str) -> str:
    """Write each lone surrogate as the six characters of its escape: strict readers refuse it."""
    if "\\ud" not in json_text:
        return json_text
    return _LONE.sub(lambda m: m[1] + (m[2] or "\\\\" + m[3]), json_text)
