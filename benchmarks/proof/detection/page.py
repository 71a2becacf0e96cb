"""Writes docs/measurements/detection.md: each fault, the first sentence about it, hit or miss."""

from __future__ import annotations

from benchmarks.proof.alarms_page import escape
from benchmarks.proof.detection.faults import FAULTS, THEMES

HEAD = """\
# Detection of faults

`python -m benchmarks.proof.detection.run --markdown docs/measurements/detection.md` breaks {bases}
healthy models, which are ordinary files in benchmarks/proof/detection/bases, with one fault each.
A fault is an edit of a few lines of the source, so that its layer and its line are known. For each
broken model the script runs `hookcli check`, through the command line, and judges the first
sentence of the verdict (`diagnoses[0]` in the JSON report) automatically:

- it names the *cause* if it matches the words that were written down with the fault;
- it names the *layer* if it quotes the broken layer, a layer in it or a parameter of it, or if the
  line that it refers to is the line of the fault. A fault in the code of the model itself, outside
  its layers, may also be told of the model.

A fault is a *hit* if the sentence names both. The words were written before most of the rules, and
some were widened when a sentence named the cause in other words. Where the column `flags` names a
rule, the run asks for it; without that, the verdict misses the fault. Faults that turned out not to
break the model were replaced. {healthy}

{summary}

| theme | faults | hits | cause only | layer only | neither |
|---|--:|--:|--:|--:|--:|
{themes}
"""


def count(results):
    """Return the numbers of faults, hits, causes without layers, layers without causes, misses."""
    hits = sum(one.hit for one in results)
    cause = sum(one.names_cause and not one.names_layer for one in results)
    layer = sum(one.names_layer and not one.names_cause for one in results)
    return len(results), hits, cause, layer, len(results) - hits - cause - layer


def summary(results):
    faults, hits, cause, layer, neither = count(results)
    later = sum(one.later for one in results)
    return (
        f"{hits} of {faults} faults ({100 * hits / faults:.1f} %) are hits; of the others {cause} "
        f"have the cause without the layer, {layer} the layer without the cause, {neither} "
        f"neither. Of the misses {later} are named by a later sentence."
    )


def page(results, bases):
    named = {one.name: one for one in results}
    themes = []
    for theme, faults in THEMES.items():
        numbers = count([named[fault.name] for fault in faults])
        themes.append(f"| {theme} | {' | '.join(map(str, numbers))} |")
    silent = sum(not sentences for sentences in bases.values())
    healthy = (
        f"The verdict says nothing about {silent} of {len(bases)} runs of the healthy models, "
        "without a loss and with one."
    )
    lines = [
        HEAD.format(
            bases=len({fault.base for fault in FAULTS.values()}),
            healthy=healthy,
            summary=summary(results),
            themes="\n".join(themes),
        )
    ]
    for theme, faults in THEMES.items():
        lines += [
            f"## {theme}\n",
            "| fault | model | flags | edit | first sentence | cause | layer |",
            "|---|---|---|---|---|---|---|",
        ]
        lines += [_line(fault, named[fault.name]) for fault in faults]
        lines.append("")
    return "\n".join(lines)


def _line(fault, one):
    flags = f"`{' '.join(fault.flags)}`" if fault.flags else ""
    if fault.config:
        flags = f"{flags} `{' '.join(fault.config.split())}`".strip()
    sentence = escape(one.sentence) or "(nothing)"
    if one.place:
        sentence += f" ({escape(one.place)})"
    verdicts = ["yes" if said else "**no**" for said in (one.names_cause, one.names_layer)]
    cells = [fault.name, fault.base, flags, _edit(fault), sentence, *verdicts]
    return f"| {' | '.join(cells)} |"


def _edit(fault):
    """Return what the first edit adds, without what it leaves as it was."""
    if not fault.edits:
        return ""
    old, new = fault.edits[0]
    kept = {line.strip() for line in old.splitlines()}
    added = [line.strip() for line in new.splitlines() if line.strip() not in kept]
    text = "; ".join(added) if added else f"without {'; '.join(sorted(kept))}"
    return f"`{escape(text[:150])}`"
