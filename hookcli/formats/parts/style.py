"""The colours of reports, as what they mean. They never say what the text does not say too."""

from __future__ import annotations

from enum import Enum


class Style(Enum):
    """A meaning, with the numbers of its terminal colours (ECMA-48, SGR)."""

    TITLE = (1,)  # bold
    FAINT = (2,)
    GOOD = (32,)  # green
    MIND = (33,)  # yellow
    WRONG = (31,)  # red
    WORST = (1, 31)  # bold and red
    NOTED = (36,)  # cyan
    PASSED = (32, 1)
    FAILED = (31, 1)


# Of gradients, checks, findings and calls that are compared.
STATUSES = {
    "ok": Style.GOOD,
    "zero": Style.MIND,
    "none": Style.MIND,
    "non_finite": Style.WORST,
    "frozen": Style.FAINT,
    "pass": Style.GOOD,
    "skip": Style.FAINT,
    "fail": Style.WRONG,
    "error": Style.WRONG,
    "warning": Style.MIND,
    "info": Style.NOTED,
    "not judged": Style.WRONG,
    "same": Style.FAINT,
    "close": Style.GOOD,
    "different": Style.WRONG,
    "unknown": Style.MIND,
    "only_a": Style.MIND,
    "only_b": Style.MIND,
    "note": Style.MIND,
    "no gradient": Style.MIND,
}
_NUMBERS = {"–": Style.FAINT, "nan": Style.WORST, "inf": Style.WORST, "-inf": Style.WORST}


def status_style(status: str | None) -> Style | None:
    """Return the style of a status, None if it has none."""
    return STATUSES.get(status or "")


def number_style(text: str) -> Style | None:
    """Return the style of a figure: what is not finite stands out, what is not known recedes."""
    return _NUMBERS.get(text)


def paint(text: str, style: Style | None, *, color: bool = True) -> str:
    """Return the text in a style, if there is one and the view has `color`.

    Blanks around the text stay outside: what follows may take them away.
    """
    core = text.strip()
    if style is None or not color or not core:
        return text
    codes = "".join(f"\x1b[{number}m" for number in style.value)
    start = text.index(core)
    return f"{text[:start]}{codes}{core}\x1b[0m{text[start + len(core) :]}"


def paint_start(text: str, count: int, style: Style | None, *, color: bool = True) -> str:
    """Return the text with its first `count` characters in a style."""
    return paint(text[:count], style, color=color) + text[count:]
