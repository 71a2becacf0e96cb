"""Unusual YAML scalars, and other unusual YAML, as the value of each key of a configuration."""

from __future__ import annotations

from functools import cache
from random import Random

from tests.config.values_everywhere import TOKENS, WHOLE, document, places
from tests.fuzz.case import Case
from tests.fuzz.corpus import MODEL
from tests.fuzz.targets.texts import FORMATS, MANY_STEPS, RUNNING


@cache
def _places() -> tuple[tuple[str, str], ...]:
    return tuple(dict.fromkeys(places()))


def scalars(rng: Random) -> Case:
    """A configuration with one value, or an unusual file, for a command that names a good model."""
    if rng.random() < 0.1:
        data = rng.choice(WHOLE)
    else:
        data = document(rng.choice(_places()), rng.choice(TOKENS))
    data = MANY_STEPS.sub(rb"\1", data)
    model = ["m.py"] if rng.random() < 0.7 else []
    batch = ["-i", "2x4"] if model and b"inputs" not in data else []
    arguments = (rng.choice(RUNNING), *model, *batch, "-c", "c.yaml", "-f", rng.choice(FORMATS))
    return Case(arguments, {"m.py": MODEL, "c.yaml": data}, "c.yaml", writes=b"save" in data)
