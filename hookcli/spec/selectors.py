"""`at`: its short form as a string, and what a selector matches. Pure functions without torch.

`PATTERN`, `PATTERN:input[PATH]` or `PATTERN:output[PATH]`. A pattern is a case-sensitive glob on
qualified names in which `*` also matches dots. The root's name is "", so `:input[0]` is the model's
own first input. hookcli/config/sections/at.py reads the mapping form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache

from hookcli.spec.hooks import Match, Part, Selector
from hookcli.text import closest, nearest, try_instead

STEP = r'(?:\[[0-9]+\]|\.[^\W\d]\w*|\["(?:[^"\\]|\\.)*"\])'
_PATH = re.compile(f"{STEP}*")
_PART = re.compile(r"(.*):(input|output)([\[.].*)?", re.DOTALL)
_PARTS: dict[str, Part] = {"input": "input", "output": "output"}
_WILD = re.compile(r"[*?\[\]]")


def part_of(text: str) -> tuple[Part, str]:
    """Return the part and the path of a string such as `output.hidden[2]`.

    Raises
    ------
    ValueError : the string is malformed. Its arguments are a message and a hint.

    """
    match = re.fullmatch(r"(\w*)(.*)", text, re.DOTALL)
    word, path = (match[1], match[2]) if match else (text, "")
    if word not in _PARTS:
        raise ValueError(
            f"'{word or text}' is not a part of a module's call",
            try_instead(
                _nearest_part(word),
                "write `input` or `output`, or with a path `output[0]` or `output.logits`",
            ),
        )
    if not _PATH.fullmatch(path):
        raise ValueError(
            f"'{path}' is not a path within the {word}",
            f'write `{word}[0]`, `{word}.logits`, `{word}.hidden[2]` or `{word}["a key"]`',
        )
    return _PARTS[word], path


def _nearest_part(word: str) -> str | None:
    near = nearest(word, [*_PARTS, "in", "out", "inputs", "outputs"], cutoff=0.6)
    return ("input" if near.startswith("in") else "output") if near else None


def match_of(text: str) -> Match:
    """Return the condition that the short form describes.

    Raises
    ------
    ValueError : the text after the colon is malformed; as `part_of`.

    """
    match = _PART.fullmatch(text)
    if match:
        part, path = part_of(match[2] + (match[3] or ""))
        return Match(pattern=match[1], part=part, path=path)
    pattern, colon, word = text.rpartition(":")
    if colon:
        near = _nearest_part(re.match(r"\w*", word)[0])  # type: ignore[index]  # always matches
        raise ValueError(
            f"the text after the colon must be input or output, got '{word}'",
            try_instead(
                near and f"{pattern}:{near}",
                "write `PATTERN:input` or `PATTERN:output`, or `{name: …}` for a name with a colon",
            ),
        )
    return Match(pattern=text)


def selector_of(text: str) -> Selector:
    """Return the selector that the short form describes. Raises as `match_of`."""
    return Selector((match_of(text),), text)


@lru_cache(maxsize=4096)
def _regex(text: str) -> re.Pattern[str]:
    return re.compile(text)


def match_name(match: Match, name: str, aliases: tuple[str, ...] = ()) -> bool:
    """Return whether one of a target's names satisfies the conditions on names."""
    return any(
        (match.pattern is None or fnmatchcase(candidate, match.pattern))
        and (match.name is None or candidate == match.name)
        and (match.regex is None or _regex(match.regex).fullmatch(candidate) is not None)
        for candidate in (name, *aliases)
    )


def match_module(
    match: Match,
    name: str,
    aliases: tuple[str, ...],
    type: str,  # noqa: A002  # the word of `at: {type: …}`
    depth: int,
    leaf: bool,
) -> bool:
    """Return whether a module satisfies a condition; `part` and `path` are ignored.

    If the condition names an operator or a node, return whether it selects those in this module.
    """
    if match.op is not None or match.node is not None:
        inside = match.inside
        return inside is None or module_matches(inside, name, aliases, type, depth, leaf)
    return (
        match_name(match, name, aliases)
        and (match.type is None or match.type == type)
        and (match.depth is None or match.depth == depth)
        and (match.leaf is None or match.leaf == leaf)
        and not (
            match.negated is not None
            and module_matches(match.negated, name, aliases, type, depth, leaf)
        )
    )


def module_matches(
    selector: Selector,
    name: str,
    aliases: tuple[str, ...],
    type: str,  # noqa: A002  # the word of `at: {type: …}`
    depth: int,
    leaf: bool,
) -> bool:
    """Return whether a selector matches a module.

    `type` is the name of its class without the package. `depth` is 0 for the root. Conditions on
    values match the modules of those inputs or outputs; see `values` and `plain`.
    """
    return any(match_module(match, name, aliases, type, depth, leaf) for match in selector.any)


def name_matches(selector: Selector, name: str, aliases: tuple[str, ...] = ()) -> bool:
    """Return whether a selector matches a parameter. Only conditions on names can match one."""
    return any(
        match_name(match, name, aliases)
        and not (match.negated is not None and name_matches(match.negated, name, aliases))
        for match in selector.any
        if is_plain(match)
    )


def is_plain(match: Match) -> bool:
    """Return whether a condition selects a target itself, not a value, operator or node in it."""
    return match.part is None and match.op is None and match.node is None


def plain(selector: Selector) -> Selector:
    """Return the selector with only the conditions on modules or parameters, possibly none."""
    return replace(selector, any=tuple(match for match in selector.any if is_plain(match)))


def values(selector: Selector) -> Selector:
    """Return the selector with only the conditions on inputs and outputs, possibly none."""
    return replace(selector, any=tuple(match for match in selector.any if match.part is not None))


def path_matches(match: Match, path: str) -> bool:
    """Return whether a tensor's path in an input or output is at or below the condition's path."""
    rest = path[len(match.path) :]
    return path.startswith(match.path) and (not rest or rest[0] in "[.")


def depth_of(name: str) -> int:
    """Return the depth of a qualified name: 0 for the root, 1 for its children."""
    return name.count(".") + 1 if name else 0


def near(selector: Selector, names: Iterable[str], count: int = 3) -> list[str]:
    """Return the names that are closest to the names in the selector, the closest first."""
    known = list(dict.fromkeys(name for name in names if name))
    matches: dict[str, None] = {}
    for text in _names_in(selector):
        matches.update(dict.fromkeys(_near(text, known, count)))
    return list(matches)[:count]


def _names_in(selector: Selector) -> Iterable[str]:
    for match in selector.any:
        yield from (text for text in (match.pattern, match.name, match.regex) if text)
        if match.inside is not None:
            yield from _names_in(match.inside)


def _near(text: str, known: list[str], count: int) -> list[str]:
    folded = text.casefold()
    name_part = _WILD.sub("", text).strip(".")
    matches = [name for name in known if fnmatchcase(name.casefold(), folded)]
    matches += [name for name in known if name_part and name.endswith(f".{name_part}")]
    matches += [name for name in known if text.endswith(f".{name}")]
    matches += closest(name_part, known, count, 0.6)
    if not matches:
        last_words = {name.rpartition(".")[2]: name for name in reversed(known)}
        guesses = closest(name_part.rpartition(".")[2], list(last_words), count, 0.6)
        matches = [last_words[word] for word in guesses]
    return matches


def advice(selector: Selector, names: Iterable[str]) -> str:
    """Return the hint for a selector that matched nothing."""
    guesses = near(selector, names)
    if guesses:
        return try_instead(guesses)
    patterns = [match.pattern for match in selector.any if match.pattern is not None]
    if any(pattern.count("[") != pattern.count("]") for pattern in patterns):
        return "close the '[' with a ']': without it, it matches the character '['"
    return (
        "run `hookcli inspect` for the names; * also matches dots, ? one character, [1-4] a digit"
    )
