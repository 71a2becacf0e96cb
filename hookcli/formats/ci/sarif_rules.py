"""The rules as SARIF descriptors, which code scanning shows next to a finding."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hookcli.console import escape
from hookcli.formats.parts.text import sentence
from hookcli.formats.parts.verdict import FIX
from hookcli.outputs.escapes import sarif_message
from hookcli.rules.catalogue import CATALOGUE
from hookcli.rules.rule import Rule
from hookcli.text import shorten

_MOST = 1024  # characters of a description that GitHub accepts
_OTHERS = {
    "unused_suppression": "every suppression matches a finding",
}


def _parts(rule: Rule) -> tuple[tuple[str, str], ...]:
    return (
        ("Computes", sentence(rule.computes)),
        ("Formula", rule.formula),
        ("Fails for", rule.fails),
        (sentence(FIX).rstrip("."), sentence(rule.mend)),
        ("Source", rule.source),
        ("More", f"hookcli explain rule:{rule.name}"),
    )


def _help(rule: Rule) -> dict[str, str]:
    code = {"Formula", "Fails for", "More"}
    marked = (
        f"**{label}**: " + (f"`{text}`" if label in code else text) for label, text in _parts(rule)
    )
    plain = (f"{label}: {text}" for label, text in _parts(rule))
    return {"text": sarif_message("\n".join(plain)), "markdown": sarif_message("\n\n".join(marked))}


def descriptor(name: str) -> dict[str, Any]:
    """Return a reportingDescriptor, also for a rule that this version does not know."""
    rule = CATALOGUE.get(name)
    if rule is None:
        text = sarif_message(sentence(escape(_OTHERS.get(name, name))))
        return {
            "id": escape(name),
            "shortDescription": {"text": text},
            "fullDescription": {"text": text},
            "help": {"text": text},
        }
    return {
        "id": rule.name,
        "name": "".join(word.capitalize() for word in rule.name.split("_")),
        "shortDescription": {"text": sarif_message(shorten(sentence(rule.says), _MOST))},
        "fullDescription": {"text": sarif_message(shorten(sentence(rule.computes), _MOST))},
        "help": _help(rule),
        "defaultConfiguration": {"level": rule.severity},
        "properties": {"tags": ["pytorch", "model"], "problem.severity": rule.severity},
    }


def descriptors(names: Iterable[str]) -> list[dict[str, Any]]:
    """Return one descriptor per name: known rules in the catalogue's order, then others."""
    named = dict.fromkeys(names)
    known = [name for name in CATALOGUE if name in named]
    return [descriptor(name) for name in (*known, *(n for n in named if n not in CATALOGUE))]
