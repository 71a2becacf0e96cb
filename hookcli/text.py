"""Words for messages: the nearest known word, counts with their noun, lists of names.

It knows nothing of hookcli, so that every folder can use it.
"""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Iterable, Sequence

_LONGEST = 200  # characters of a name that anyone mistypes
_LONG_LIST = 250  # characters: three lines of a terminal
_MOST = 20_000_000  # pairs of characters that are compared for a hint: a second or two


def nearest(
    word: str, known: Iterable[str], *, cutoff: float = 0.5, ignore_case: bool = False
) -> str | None:
    """Return the known word that `word` is likely meant to be, or None if none is alike.

    `cutoff` is the least similarity, from 0 to 1, as `difflib.get_close_matches` measures it. The
    default suits hookcli's own words, of which there are few; names of the user's code and files
    are many, and take 0.6.
    """
    words = {candidate.casefold() if ignore_case else candidate: candidate for candidate in known}
    matches = closest(word.casefold() if ignore_case else word, words, 1, cutoff)
    return words[matches[0]] if matches else None


def closest(word: str, names: Iterable[str], count: int = 1, cutoff: float = 0.6) -> list[str]:
    """The names closest to a word, for hints, as difflib.get_close_matches gives them.

    That takes the product of the lengths for each name, which hostile names make hours: long names
    are passed over, and the search ends after so much work.
    """
    if len(word) > _LONGEST:
        return []
    matches: list[tuple[float, str]] = []
    left = _MOST
    matcher: difflib.SequenceMatcher[str] = difflib.SequenceMatcher()
    matcher.set_seq2(word)
    for name in names:
        if len(name) > _LONGEST:
            continue
        matcher.set_seq1(name)
        if matcher.real_quick_ratio() < cutoff or matcher.quick_ratio() < cutoff:
            continue
        left -= len(word) * len(name)
        if left < 0:
            break
        if matcher.ratio() >= cutoff:
            matches.append((matcher.ratio(), name))
    return [name for _, name in heapq.nlargest(count, matches)]


def try_instead(guess: str | Sequence[str] | None, otherwise: str = "") -> str:
    """Return the hint for a misspelled word: what to try, or `otherwise` if there is no guess."""
    guesses = [guess] if isinstance(guess, str) else guess
    if not guesses:
        return otherwise
    return f"try {join_or([f'`{word}`' for word in guesses])}"


def listed_hint(word: str, known: Iterable[str], listed: Iterable[str]) -> str:
    """Return the hint for an unknown word: the nearest known one, and those that are listed.

    A list that is longer than a line is omitted next to a nearest word.
    """
    guess, names = nearest(word, known), ", ".join(listed)
    if guess is None:
        return f"choose from {names}"
    return (
        try_instead(guess) if len(names) > _LONG_LIST else f"try `{guess}`, or another of {names}"
    )


def join_or(names: Sequence[str]) -> str:
    """Return the names between commas, with "or" before the last: `a, b or c`."""
    return ", ".join(names[:-1]) + (" or " if names[1:] else "") + names[-1]


def pluralize(count: int, noun: str, plural: str | None = None) -> str:
    """Return the form of the noun that goes with a count; `plural` if an "s" does not make it."""
    return noun if count == 1 else plural or f"{noun}s"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun: `1 finding`, `3,000 findings`."""
    return f"{count:,} {pluralize(count, noun, plural)}"


def join_names(names: Sequence[str], most: int = 3, *, rest: str = " and {} more") -> str:
    """Return the first `most` names between commas, then how many there are beside them."""
    left = len(names) - most
    return ", ".join(names[:most]) + (rest.format(left) if left > 0 else "")


def first_line(text: str) -> str:
    """Return the first line that is not blank, without white space around it; "" if none is."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def shorten(text: str, width: int) -> str:
    """Return the text within `width` characters, cut at its end with an ellipsis."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def with_article(noun: str) -> str:
    """Return a noun or the name of a class after "a" or "an", by its sound.

    >>> with_article("Embedding"), with_article("LSTM"), with_article("GRU"), with_article("UNet")
    ('an Embedding', 'an LSTM', 'a GRU', 'a UNet')
    """
    spelled = noun[:2].isupper()  # letter by letter: "el", "em"
    return f"an {noun}" if noun[:1] in ("AEFHILMNORSX" if spelled else "aeiouAEIO") else f"a {noun}"
