"""Planted divergences of compiled models: does `hookcli diff` name the right first layer?

`python -m benchmarks.proof.compiled.divergences [WORDS]` prints a line for each, and the rate.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.proof.compiled.cases import DIVERGENCES, Divergence

_HOOKCLI = str(Path(sys.executable).with_name("hookcli"))


def compared(
    folder: Path, query: str, *inputs: str, more: tuple[str, ...] = ()
) -> dict[str, Any] | str:
    """Return the diff of net.py:Net and its compiled form; the error if there is none."""
    command = [
        _HOOKCLI, "diff", "net.py:Net", f"net.py:Net?{query}", "-f", "json", "--fail-on", "never",
        *(word for text in inputs for word in ("--input", text)), *more,
    ]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    if done.returncode:
        return done.stderr
    try:
        return dict(json.loads(done.stdout))
    except json.JSONDecodeError:
        return dict(json.loads(done.stdout[done.stdout.index("{") :]))


def run(case: Divergence) -> tuple[bool, str]:
    """Return whether the right layer is named, and what was said."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "net.py").write_text(case.source)
        diff = compared(folder, case.query.replace("FILE", "net.py"), case.input)
    if isinstance(diff, str):
        return False, diff.strip()[-300:]
    first = diff["first"]
    if first is None:
        return False, "not found"
    named = diff["compiled"]["named"]
    return bool(named) and named[0] in case.names, f"{named[:1]} {first['sentence']}"


def main(words: list[str]) -> None:
    """Run all cases whose names have one of the words."""
    right = many = 0
    for case in DIVERGENCES:
        if words and not any(word in case.name for word in words):
            continue
        began = time.perf_counter()
        good, text = run(case)
        many, right = many + 1, right + good
        print(f"{'right' if good else 'WRONG'} {case.name}: {text} "
              f"({time.perf_counter() - began:.0f} s)", flush=True)  # fmt: skip
    print(f"{right} of {many}: {right / max(many, 1):.0%}")


if __name__ == "__main__":
    main(sys.argv[1:])
