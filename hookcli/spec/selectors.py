"""`at`: its short form as text, and what a selector matches. Pure functions, torch-free.

`PATTERN`, `PATTERN:input[PATH]` or `PATTERN:output[PATH]`. A pattern is a case-sensitive glob on
qualified names in which `*` crosses dots; the root's name is "", so `:input[0]` is the model's own
first input. The mapping form is read in hookcli/config/reading/at.py.
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
    """What `output.hidden[2]` says: the part, and the path in it.

    Raises
    ------
    ValueError : it is neither; the message is a sentence, and its second argument a hint.

    """
    match = re.fullmatch(r"(\w*)(.*)", text, re.DOTALL)
    word, path = (match[1], match[2]) if match else (text, "")
    if word not in _PARTS:
        raise ValueError(
            f"'{word or text}' is no part of a module's call",
            try_instead(
                _nearest_part(word),
                "write input or output, with a path: output[0], output.logits",
            ),
        )
    if not _PATH.fullmatch(path):
        raise ValueError(
            f"'{path}' is no path into the {word}",
            f'write {word}[0], {word}.logits, {word}.hidden[2] or {word}["a key"]',
        )
    return _PARTS[word], path


def _nearest_part(word: str) -> str | None:
    near = nearest(word, [*_PARTS, "in", "out", "inputs", "outputs"], cutoff=0.6)
    return ("input" if near.startswith("in") else "output") if near else None


def match_of(text: str) -> Match:
    """The condition that the short form says.

    Raises
    ------
    ValueError : what follows the colon is malformed; as `part_of`.

    """
    match = _PART.fullmatch(text)
    if match:
        part, path = part_of(match[2] + (match[3] or ""))
        return Match(pattern=match[1], part=part, path=path)
    pattern, colon, word = text.rpartition(":")
    if colon:
        near = _nearest_part(re.match(r"\w*", word)[0])  # type: ignore[index]  # always matches
        raise ValueError(
            f"'{word}' after the colon is neither input nor output",
            try_instead(
                near and f"{pattern}:{near}",
                "write PATTERN:input or PATTERN:output; a name with a colon as {name: …}",
            ),
        )
    return Match(pattern=text)


def selector_of(text: str) -> Selector:
    """The selector that the short form says; raises as `match_of`."""
    return Selector((match_of(text),), text)


@lru_cache(maxsize=4096)
def _regex(text: str) -> re.Pattern[str]:
    return re.compile(text)


def match_name(match: Match, name: str, aliases: tuple[str, ...] = ()) -> bool:
    """Whether one of a target's names satisfies what `match` says of names."""
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
    """Whether one condition holds for a module; `part` and `path` are not looked at.

    Where it names an operator or a node, this is whether such a one inside the module is meant.
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
    """Whether a module is meant: `type` is its class's bare name, `depth` 0 for the root.

    For values, the modules whose inputs or outputs are meant; see `values` and `plain`.
    """
    return any(match_module(match, name, aliases, type, depth, leaf) for match in selector.any)


def name_matches(selector: Selector, name: str, aliases: tuple[str, ...] = ()) -> bool:
    """Whether a parameter is meant. Conditions on values, operators and nodes mean none."""
    return any(
        match_name(match, name, aliases)
        and not (match.negated is not None and name_matches(match.negated, name, aliases))
        for match in selector.any
        if is_plain(match)
    )


def is_plain(match: Match) -> bool:
    """Whether a condition names its target itself, and no value, operator or node within it."""
    return match.part is None and match.op is None and match.node is None


def plain(selector: Selector) -> Selector:
    """The conditions on modules or parameters themselves; none may be left."""
    return replace(selector, any=tuple(match for match in selector.any if is_plain(match)))


def values(selector: Selector) -> Selector:
    """The conditions on inputs and outputs of modules' calls; none may be left."""
    return replace(selector, any=tuple(match for match in selector.any if match.part is not None))


def path_matches(match: Match, path: str) -> bool:
    """Whether the tensor at `path` of an input or output is meant: at or below the match's."""
    rest = path[len(match.path) :]
    return path.startswith(match.path) and (not rest or rest[0] in "[.")


def depth_of(name: str) -> int:
    """How deep a qualified name lies: 0 for the root, 1 for its children."""
    return name.count(".") + 1 if name else 0


def near(selector: Selector, names: Iterable[str], count: int = 3) -> list[str]:
    """The names that come closest to what the selector asks for, the closest first."""
    known = list(dict.fromkeys(name for name in names if name))
    matches: dict[str, None] = {}
    for wanted in _wanted(selector):
        matches.update(dict.fromkeys(_near(wanted, known, count)))
    return list(matches)[:count]


def _wanted(selector: Selector) -> Iterable[str]:
    for match in selector.any:
        yield from (text for text in (match.pattern, match.name, match.regex) if text)
        if match.inside is not None:
            yield from _wanted(match.inside)


def _near(wanted: str, known: list[str], count: int) -> list[str]:
    folded = wanted.casefold()
    bare = _WILD.sub("", wanted).strip(".")
    matches = [name for name in known if fnmatchcase(name.casefold(), folded)]
    matches += [name for name in known if bare and name.endswith(f".{bare}")]
    matches += [name for name in known if wanted.endswith(f".{name}")]
    matches += closest(bare, known, count, 0.6)
    if not matches:
        last = {name.rpartition(".")[2]: name for name in reversed(known)}
        near_last = closest(bare.rpartition(".")[2], list(last), count, 0.6)
        matches = [last[word] for word in near_last]
    return matches


def advice(selector: Selector, names: Iterable[str]) -> str:
    """The hint where a selector matched nothing."""
    close = near(selector, names)
    if close:
        return try_instead(close)
    texts = [match.pattern for match in selector.any if match.pattern is not None]
    if any(text.count("[") != text.count("]") for text in texts):
        return "a '[' without its ']' stands for itself; names have none"
    return "hookcli inspect lists the names; * crosses dots, ? is one character, [1-4] a class"
