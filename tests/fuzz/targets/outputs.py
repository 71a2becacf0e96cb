"""Flags that write files, with names and folders that are not as they should be."""

from __future__ import annotations

from random import Random

from tests.fuzz.case import Case
from tests.fuzz.corpus import MODEL, reports, trainings
from tests.fuzz.targets.texts import FORMATS

NAMES = [
    "out", "out.json", "a b", "-", "--", "a\nb", "\x1b[31m", "\udcff\udcfe", "\u202e", "😀", "a=b",
    "=", "out/", "./out", "sub/out", "sub/../out", "missing/out", "file/out", "sub", ".", "..", "",
    "link", "link to nothing", "link to folder", "link to itself", "link to folder/out",
    "sub link/out", "n" * 255, "n" * 256, "n" * 250, "m.py", "r.json", "link to m.py", "existing",
    "/dev/null", "/dev/full", "/dev/stdout", "existing/", "~", "%s", "$HOME", "CON", "*", "'", "é",
]  # fmt: skip
ENTRIES = (
    ("folder", "sub", ""), ("link", "link", "existing"), ("link", "link to nothing", "nothing"),
    ("link", "link to folder", "sub"), ("link", "link to itself", "link to itself"),
    ("link", "sub link", "sub"), ("link", "link to m.py", "m.py"), ("folder", "full/of", ""),
)  # fmt: skip
_TARGETS = {"link to m.py": "m.py", "link": "existing", "link to nothing": "nothing",
            "sub link/out": "sub/out",
            "link to folder/out": "sub/out", "./out": "out", "sub/../out": "out"}  # fmt: skip
ENDS = ("svg", "tensorboard", *FORMATS)


def outputs(rng: Random) -> Case:
    """A command with one to three flags that write."""
    files = {"m.py": MODEL, "r.json": reports()[0], "t.json": trainings()[0],
             "existing": b"keep me\n", "file": b""}  # fmt: skip
    command = rng.choice((
        ["render", "r.json"], ["render", "r.json"], ["render", "t.json"], ["diff", "r.json",
        "r.json"], ["check", "--against", "r.json"], ["inspect", "m.py:Net", "-i", "2x4"],
        ["trace", "m.py:Net", "-i", "2x4"], ["check", "m.py:Net", "-i", "2x4"],
        ["snapshot", "m.py:Net", "-i", "2x4"], ["init", "m.py:Net"],
    ))  # fmt: skip
    read = {word.partition(":")[0] for word in command}
    written: dict[str, str] = {}
    typed: dict[str, str] = {}

    def place(form: str) -> str:
        name = rng.choice(NAMES)
        final = _TARGETS.get(name, name)
        typed[name] = form
        if final not in read and not name.endswith("/"):
            written[final] = "json" if form == "baseline" else form
        return name

    arguments = list(command)
    folder = False
    match command[0]:
        case "snapshot":
            arguments += ["-o", place("yaml"), *(["--force"] if rng.random() < 0.5 else [])]
            if "--force" not in arguments:
                written.pop("existing", None)
        case "init":
            arguments += ["-o", place("yaml")]
            written.pop("existing", None)
        case _ if rng.random() < 0.4:
            form = rng.choice(FORMATS)
            arguments += ["-f", form, "-o", place(form)]
        case _:
            for form in rng.sample(ENDS, rng.choice((1, 1, 2, 3))):
                folder = folder or form == "tensorboard"
                arguments += ["-f", f"{form}={place(form)}"]
    if command[0] == "trace" and rng.random() < 0.5:
        arguments += ["--stream", place("jsonl")]
    if command[0] == "check" and rng.random() < 0.5:
        arguments += ["--baseline", place("baseline"), "--update-baseline"]
    if len(written) < 2 or rng.random() < 0.9:
        entries = ENTRIES
    else:
        entries = ()
        files.pop("existing")
        written.update({name: form for name, form in typed.items() if "link" in name})  # a file
    return Case(tuple(arguments), files, outputs=written, entries=entries, writes=folder)
