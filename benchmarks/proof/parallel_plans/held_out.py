"""Plans of models that the causes were not written with: mutations drawn by a seed, run once."""

from __future__ import annotations

import random
from collections.abc import Iterator

from benchmarks.proof.parallel_plans.cases import (
    COL,
    LLAMA,
    PARTIAL_OUTPUT,
    ROW,
    Case,
    Mutations,
    Styles,
    twice,
)

VIT: Styles = {
    "blocks.0.q": COL, "blocks.0.k": COL, "blocks.0.v": COL, "blocks.0.out": ROW,
    "blocks.1.up": COL, "blocks.1.down": ROW,
}  # fmt: skip
SIAMESE: Styles = {"encoder.1.up": COL, "encoder.1.down": ROW}


def held_out() -> Iterator[Case]:
    """Yield the right plan of each model, and mutations of modules that are drawn."""
    draw = random.Random(7)
    for model, styles, many in (("qwen", LLAMA, 3), ("vit", VIT, 2), ("siamese", SIAMESE, 1)):
        yield Case(model, "tp", styles)
        made = Mutations(model, styles)
        rows = sorted(name for name, style in styles.items() if style == ROW)
        for name in draw.sample(sorted(styles), many):
            made.add("left out", name, None)
        for name in draw.sample(sorted(styles), many):
            made.add("wrong dimension", name, COL if styles[name] == ROW else ROW)
        for name in draw.sample(rows, min(many, len(rows))):
            made.add("missing reduction", name, PARTIAL_OUTPUT)
        for name in draw.sample(rows, min(many, len(rows))):
            made.add("double reduction", name, "", twice(name))
        yield from made.cases
