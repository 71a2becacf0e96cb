"""Runs the healthy scripts of benchmarks/proof/trainings/scripts, each in a fork of its own.

They are written as third-party scripts are, in the styles of pytorch/examples, nanoGPT, timm and
others. Each prints a line that begins with TRUTH: by the name of a root, its optimizer, its number
of steps, and the loss of its first and last step, as the script itself computed them (null if it
does not know). A record that differs, and one of a root that is not listed, is a false statement.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import pickle
import runpy
import socket
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path

import torch

from hookcli.formats.training.facts import figures, title, training_of
from hookcli.formats.training.findings import notes

# Findings that tell the truth about a training that is meant so: (script, rule) -> why.
_STARVED = "true: the router of this small mixture sends no token to one of eight experts"
MEANT = dict.fromkeys(
    (
        ("mixture_of_experts", r)
        for r in ("grad_exists", "uncalled_modules", "unchanged_parameters")
    ),
    _STARVED,
)
FOLDER = Path(__file__).parent / "trainings" / "scripts"
RANKS = {"ddp_gloo": 2}  # scripts that torchrun starts


@dataclass(frozen=True)
class ScriptResult:
    """What one script and its report say."""

    report: object
    printed: str

    @property
    def truth(self):
        """Return the figures that the script printed."""
        lines = [line for line in self.printed.splitlines() if line.startswith("TRUTH ")]
        return json.loads(lines[-1].removeprefix("TRUTH "))

    @property
    def lines(self):
        """Return the summary: a line for each record, and the notes."""
        records = [f"{title(r)}: {', '.join(figures(r))}" for r in self.report.records]
        return [*records, *(f"note: {note}" for note in notes(self.report))]

    def false_figures(self):
        """Return what the records say that the script does not."""
        truth = self.truth
        found = {training_of(record).root: training_of(record) for record in self.report.records}
        if not truth:
            return []
        wrong = [f"no record of {name}" for name in truth.keys() - found.keys()]
        wrong += [f"a record of {name}" for name in found.keys() - truth.keys()]
        for name, row in truth.items():
            mine = [training_of(r) for r in self.report.records if training_of(r).root == name]
            wrong += [f"{name}: {text}" for text in _differences(mine, row)]
        return wrong


def _differences(records, row):
    """Yield how the records of one root, one for each optimizer, differ from the truth."""
    if not records:
        return
    optimizer, steps, first, last = row
    types = [None if info.optimizer is None else info.optimizer.type for info in records]
    if optimizer is not None and set(types) != {optimizer}:
        yield f"optimizers {types}, not {optimizer}"
    totals = [info.total for info in records]
    if steps not in {sum(totals), *totals}:
        yield f"steps {totals}, not {steps}"
    for word, wanted, info, place in (
        ("first", first, records[0], 0),
        ("last", last, records[-1], -1),
    ):
        losses = [step.loss for step in info.steps if step.loss is not None]
        if wanted is not None and (
            not losses or not math.isclose(losses[place], wanted, rel_tol=1e-5)
        ):
            yield f"{word} loss {losses[place] if losses else None}, not {wanted}"
        if info.calls == 0 and info.root_type != "LooseParameters":
            yield "0 calls"


def scripts():
    """Return the paths of all scripts by their names."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.py"))}


def run_script(path, observe):
    """Return the result of a script; `observe` runs a function and returns its judged report."""
    ranks = RANKS.get(path.stem, 1)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, str(rank)) for rank in range(ranks)]
        environment = _of_rank(ranks)
        children = [
            _fork(
                path, observe, files[rank], {**environment, "RANK": str(rank)} if ranks > 1 else {}
            )
            for rank in range(ranks)
        ]
        for child in children:
            os.waitpid(child, 0)
        return pickle.loads(files[0].read_bytes())


def _of_rank(ranks):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}


def _fork(path, observe, file, environment):
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        os.environ.update(environment)
        sys.argv = [str(path)]
        printed = io.StringIO()
        own = {name: sys.modules.pop(name) for name in _own_modules()}
        with contextlib.redirect_stdout(printed):
            report = observe(lambda: runpy.run_path(str(path), run_name="__main__"))
        sys.modules.update(own)
        file.write_bytes(pickle.dumps(ScriptResult(report, printed.getvalue())))
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _own_modules():
    """Return the modules of this benchmark: a script that is run as usual does not have them."""
    return [name for name in sys.modules if name.partition(".")[0] == "benchmarks"]


def main():
    """Print the summary of the scripts that are named, or of all, with what is false in it."""
    from benchmarks.proof.training_alarms import observe
    from hookcli.rules.judge_training import all_checks

    torch.set_num_threads(1)
    accused = wrong = 0
    for name, path in scripts().items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        result = run_script(path, observe)
        failed = [row for row in all_checks(result.report) if row.status == "fail"]
        found = [f"{MEANT.get((name, r.rule), 'FALSE')}: {r.rule}: {r.message}" for r in failed]
        accused += any((name, row.rule) not in MEANT for row in failed)
        print(f"== {name}", *found, *result.lines, sep="\n  ")
        figures_of = result.false_figures()
        wrong += bool(figures_of)
        print(*(f"  FALSE {text}\n" for text in figures_of), sep="", end="", flush=True)
    print(f"{accused} scripts falsely accused, {wrong} with false figures")
    return int(accused + wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
