"""Breaks healthy models, one fault each, and counts the faults that the verdict names.

`python -m benchmarks.proof.detection.run [names] [--markdown FILE]`
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks.proof.detection.faults import FAULTS, THEMES
from benchmarks.proof.detection.faults.fault import BASES
from benchmarks.proof.detection.judge import judge, report_of, verdict
from benchmarks.proof.detection.losses import LOSSES
from benchmarks.proof.detection.page import page, summary


def healthy():
    """Return the sentences about each base, without a loss and with its own: none is right."""
    told = {}
    for path in sorted(BASES.glob("[a-z]*.py")):
        loss = LOSSES.get(path.stem)
        for flags in ((), *([("--loss", loss)] if loss else [])):
            report, problem = report_of(path.read_text(), flags)
            sentences = (
                [problem] if report is None else [one["sentence"] for one in verdict(report)]
            )
            told[" ".join((path.stem, *flags))] = sentences
    return told


def line(one):
    missing = [
        w for w, said in (("cause", one.names_cause), ("layer", one.names_layer)) if not said
    ]
    word = "hit" if one.hit else f"MISS {' '.join(missing)}"
    later = " (named later)" if one.later else ""
    place = f" @{one.place}" if one.place else ""
    said = f"{word:16} {one.name:28} {one.seconds:4.1f} s  [{one.cause}]{later}"
    return f"{said} {one.sentence}{place}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="name", help="faults or themes")
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args()
    named = {fault.name for word in given.names for fault in THEMES.get(word, ())}
    wanted = [name for name in FAULTS if not given.names or name in {*given.names, *named}]
    started = time.monotonic()
    bases = {} if given.names else healthy()
    for name, sentences in bases.items():
        if sentences:
            print(f"about a healthy model: {name}: {'; '.join(sentences)}", flush=True)
    results = []
    for name in wanted:
        results.append(judge(FAULTS[name]))
        print(line(results[-1]), flush=True)
    print(f"{summary(results)} {time.monotonic() - started:.0f} s")
    if given.markdown:
        given.markdown.write_text(page(results, bases))
    return int(any(bases.values()))


if __name__ == "__main__":
    sys.exit(main())
