"""Judges a case: its exit status, what it printed, and what it left in its folders."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import yaml

from tests.fuzz.case import Case

if TYPE_CHECKING:
    from tests.fuzz.runner import Outcome

Listing: TypeAlias = dict[str, bytes | None]
DOCUMENTED = {0, 1, 2, 3}  # docs/commands/index.md; the others need a signal or a bug


@dataclass(frozen=True, slots=True)
class Failure:
    """What is wrong; `kind` is the same for failures with the same cause, as far as one can see."""

    kind: str
    detail: str


# What the command printed. ----------------------------------------------------------------------


def judged(case: Case, status: int, out: str, err: str) -> list[Failure]:
    if case.check is not None:
        return [] if status == 0 else [Failure(f"differs: {_cause(err)}", err[-3000:])]
    if case.script:
        return _judged_script(case, err)
    if status not in DOCUMENTED:
        return [Failure(f"status {status}: {_cause(err)}", err[-3000:])]
    found = []
    shown = "Traceback (most recent call last)" in err and "hookcli" in _cause(err)
    if shown and not {"-v", "--verbose"} & {*case.arguments}:  # the model's own are its output
        found.append(Failure(f"a traceback: {_cause(err)}", err[-3000:]))
    lines = err.splitlines()
    not_judged = status == 3 and out and not any(map(_is_error, lines))  # docs/commands/check.md
    if status in {2, 3} and not not_judged:
        starts = ("error: ", "  --> ", "hint: ")
        last = [_plain(line) for line in lines[-3:]]
        is_error = len(last) == 3 and all(map(str.startswith, last, starts))
        if (
            not (
                is_error
                and all(
                    line.removeprefix(start).strip()
                    for line, start in zip(last, starts, strict=True)
                )
            )
            and "-v" not in case.arguments
        ):
            found.append(Failure(f"status {status} without three lines", err[-2000:]))
    elif status < 2 and any(map(_is_error, lines)) and "diff" not in case.arguments:
        found.append(Failure(f"status {status} with an error", err[-2000:]))
    if status == 2 and out and not any("/dev/stdout" in one for one in case.arguments):
        # A report is written to the named stdout before that of the next file fails.
        found.append(Failure("status 2 with a report", out[-2000:]))
    if out and (wrong := _not_whole(case, out)):
        found.append(Failure(f"stdout is not whole: {wrong}", out[-2000:]))
    return found


def _judged_script(case: Case, err: str) -> list[Failure]:
    """Judge a training script: its status and its tracebacks are its own, those of hookcli not."""
    if "hookcli failed" in err or ("Traceback" in err and "hookcli/" in _last_frame(err)):
        return [Failure(f"a script met {_cause(err)}", err[-3000:])]
    return []


def differences(plain: Outcome, found: Outcome) -> list[Failure]:
    """What is different if a script runs under hookcli, unless its command line is refused."""
    if found.status == 2 and not found.out and "\n  --> " in found.err:
        return []
    if plain.status != found.status:
        detail = f"{plain.status} under python: {plain.err[-500:]}\nhookcli: {found.err[-1500:]}"
        return [Failure(f"a script has another status: {found.status}", detail)]
    if plain.out != found.out:
        detail = f"{plain.out[-500:]}\n{found.out[-500:]}"
        return [Failure("a script prints something else", detail)]
    return []


def _last_frame(err: str) -> str:
    files = re.findall(r'File "([^"]+)", line', err)
    return files[-1] if files else ""


def _is_error(line: str) -> bool:
    return _plain(line).startswith("error: ")


def _plain(line: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", line)


def _cause(err: str) -> str:
    """The last frame in hookcli and the type of the exception, without values."""
    if bug := re.search(r"hookcli failed: (\w+).*\n  --> .*?([\w.]+/[\w.]+:\d+)", err):
        return f"{bug[1]} in {bug[2]}"
    frames = re.findall(r'File "([^"]+)", line \d+, in (\S+)', err)
    own = [
        f"{file[file.index('hookcli/') :]}:{name}" for file, name in frames if "/hookcli/" in file
    ]
    types = re.findall(r"^([A-Za-z_.]+(?:Error|Exception|Interrupt|Exit))\b", err, re.MULTILINE)
    return f"{types[-1] if types else 'unknown'} in {own[-1] if own else 'the model'}"


def _not_whole(case: Case, out: str) -> str:
    """Why stdout is not a whole document of its format, "" if it is or if nothing can tell."""
    given = case.arguments
    named = [given[i + 1] for i, word in enumerate(given[:-1]) if word in {"-f", "--format"}]
    named = [name for name in named if "=" not in name or name.endswith("=-")]
    if not named or given[0] not in _REPORTING:
        return ""
    return _not_whole_in(named[-1].removesuffix("=-"), out)


def _not_whole_in(form: str, text: str) -> str:
    """Why a text is not a whole document of a format, "" if it is or if nothing can tell."""
    try:
        if form in {"json", "sarif", "perfetto"}:
            json.loads(text, parse_constant=_refuse)
        elif form == "jsonl":
            for line in text.splitlines():
                json.loads(line, parse_constant=_refuse)
        elif form in {"junit", "svg"}:
            ET.fromstring(text)
        elif form == "yaml":
            yaml.safe_load(text)
        elif form == "html" and not text.rstrip().endswith("</html>"):
            return "html has no end"
    except (ValueError, ET.ParseError, yaml.YAMLError) as error:
        return f"{form}: {type(error).__name__}"
    return "" if text.endswith("\n") or not text else f"{form}: no end of line"


_REPORTING = {"inspect", "grads", "trace", "check", "render", "diff"}


def _refuse(constant: str) -> None:
    raise ValueError(constant)


# What it left in its folders. -------------------------------------------------------------------


def listing(folder: Path) -> Listing:
    """Every file below the three folders with its content; None of what is no plain file."""
    found: Listing = {}
    for name in ("work", "home", "tmp"):
        for path in (folder / name).rglob("*"):
            plain = path.is_file() and not path.is_symlink()
            found[str(path.relative_to(folder))] = path.read_bytes() if plain else None
    return found


def changes(case: Case, status: int | None, before: Listing, after: Listing) -> list[Failure]:
    found = []
    changed = {name for name, content in before.items() if after.get(name, b"") != content}
    new = after.keys() - before.keys()
    outputs = {f"work/{name}": form for name, form in case.outputs.items()}
    for name in sorted((changed | new) & outputs.keys()):
        grows = outputs[name] == "jsonl"  # while the model runs: what is there is kept
        if status == 2 and not case.script and not grows:
            found.append(Failure("a refused command wrote a file", name))
        wrong = _not_whole_in(outputs[name], (after.get(name) or b"").decode("utf-8", "replace"))
        if name not in after or wrong:
            found.append(Failure("a file is not whole", f"{name}: {wrong}"))
    changed, new = changed - outputs.keys(), new - outputs.keys()
    if any(Path(name).name == "CANARY" for name in new):
        found.append(Failure("code of a file ran", ", ".join(new)))
    elif new and not (
        case.writes
        and all(name.startswith("work/") for name in new)
        # A run may be refused after `save` has written into its folder.
        and (status != 2 or all(after[name] is None or name.count("/") > 1 for name in new))
    ):
        found.append(Failure(f"a new file in {min(new).split('/')[0]}", ", ".join(new)))
    if changed and not case.writes:
        found.append(Failure("an input changed", ", ".join(changed)))
    return found


def foreign(folder: Path) -> list[Failure]:
    log = folder / "foreign"
    if not log.exists():
        return []
    return [Failure("a file outside the folder was written", log.read_text(errors="replace"))]
