"""Completion of a command line beside files and classes whose names are commands of the shell."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
from functools import partial
from pathlib import Path
from random import Random

from hookcli.cli.application import application
from hookcli.cli.completion.answer import answer
from tests.fuzz.case import Case
from tests.fuzz.corpus import MODEL
from tests.fuzz.hostile import WORDS
from tests.fuzz.targets.texts import FLAGS

_NAMES = [
    "$(touch CANARY)", "`touch CANARY`", "a;touch CANARY", "a&&touch CANARY", "a|touch CANARY",
    "a&touch CANARY&", "<(touch CANARY)", "a'$(touch CANARY)'", 'a"$(touch CANARY)"', "a b",
    "a\\$(touch CANARY)", "*", "~", "#a", "a:b", "a=b", "-f", "(e:'touch CANARY':)", "{a,b}", "!a",
    "${CANARY:=`touch CANARY`}", "[x$(touch CANARY)]", "é", "\u202e", "\x1b[31m", "\udcff",
]  # fmt: skip
_COMMANDS = ("inspect", "grads", "check", "diff", "render", "run", "explain", "list", "init", "x")
_UNKNOWN = "hookcli", "", "-", "--", ":", "=", "'", '"', "\\", "m.py:", "m.py:N", "rule:", "sub/"


def completions(rng: Random) -> Case:
    """What each shell gets, read by a shell as it would read what its user accepts."""
    names = [name for name in rng.sample(_NAMES, rng.randint(1, 4)) if "/" not in name]
    folder = [name for name in names if rng.random() < 0.5]
    entries = tuple(("folder", name, "") for name in folder)
    files = {f"{name}.py": MODEL for name in names if name not in folder}
    files |= {f"{name}/m.py": MODEL for name in folder} | {"m.py": MODEL}
    shell, words = rng.choice(("bash", "zsh", "fish")), ["hookcli", *_words(rng, names)]
    return Case(tuple(words), files, entries=entries, check=partial(_check, shell, words))


def _words(rng: Random, names: list[str]) -> list[str]:
    found = [rng.choice(_COMMANDS)] if rng.random() < 0.9 else []
    for _ in range(rng.randint(0, 2)):
        found.append(rng.choice([rng.choice(FLAGS), rng.choice(WORDS), rng.choice(names)]))
    name = rng.choice(names)
    typed = name[: rng.randint(0, len(name))]
    last = [typed, f"{name}.py:", f"{name}.py:N", f"{name}/", f"{name}/m.py:", *_UNKNOWN]
    return [*found, rng.choice(last)]


def _check(shell: str, words: list[str]) -> None:
    environment = {
        "COMP_WORDS": "\n".join(words),
        "COMP_CWORD": str(len(words) - 1),
        "_TYPER_COMPLETE_ARGS": " ".join(words),
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = answer(f"complete_{shell}", environment, application)
    assert status == 0, f"status {status}"
    rows = out.getvalue().splitlines()
    if shell == "fish":  # it quotes the words itself
        return
    rows = [row.removeprefix("_arguments '*: :((").removesuffix("))'") for row in rows]
    read = 'for row in "$@"; do eval "set -- $row" 2>/dev/null; done; exit 0'
    subprocess.run(
        ["bash", "-c", read, "bash", *map(os.fsencode, rows)],
        stdin=subprocess.DEVNULL,
        check=True,
        timeout=20,
    )
    assert not Path("CANARY").exists(), f"a shell ran a name: {rows}"
