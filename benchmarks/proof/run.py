"""Compares hookcli with hooks attached by hand, one line per architecture.

`python -m benchmarks.proof.run [names...] [--markdown FILE]`
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from benchmarks.proof.architectures import ARCHITECTURES

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 180
REAL_BELOW = 700_000_000
FIELDS = ("name", "type", "call", "parent", "training", "own", "inputs", "outputs")


def make_input(text):
    """Return (keyword or None, value) of an `--input`, without code of hookcli."""
    import torch

    name, _, body = text.rpartition("=")
    shape, dtype, fill = [*body.split(":"), None, None][:3]
    sizes = [int(size) for size in shape.split("x")]
    if fill == "ones":
        value = torch.ones(sizes, dtype=getattr(torch, dtype))
    elif dtype is None:
        value = torch.randn(sizes, dtype=torch.get_default_dtype())
    else:
        low, high = (int(end) for end in fill.split(".."))
        value = torch.randint(low, high, sizes, dtype=getattr(torch, dtype))
    return name or None, value


def cast(model, dtype):
    """Do what `model.to(dtype)` does, which rejects fake tensors."""
    import torch

    made = {}
    for module in model.modules():
        for table in (module._parameters, module._buffers):
            for name, old in table.items():
                if old is not None and old.is_floating_point():
                    new = old.detach().to(dtype)
                    if isinstance(old, torch.nn.Parameter):
                        new = torch.nn.Parameter(new)
                    table[name] = made.setdefault(id(old), (new, old))[0]


def truth_of(one):
    import torch
    import transformers
    from torch._subclasses.fake_tensor import FakeTensorMode

    from tests import truth

    assert not any(name.partition(".")[0] == "hookcli" for name in sys.modules)
    kind = getattr(transformers, one.model)

    def build():
        truth.seed()
        model = kind(kind.config_class(**one.config))
        if one.dtype is not None:
            cast(model, getattr(torch, one.dtype))
        return model.eval()

    def batch():
        truth.seed()
        for name, value in map(make_input, one.inputs):
            cast_too = one.dtype is not None and value.is_floating_point()
            yield name, value.to(getattr(torch, one.dtype)) if cast_too else value

    with torch.device("meta"):
        real = sum(p.numel() for p in build().parameters()) < REAL_BELOW
    with nullcontext() if real else FakeTensorMode(allow_non_fake_inputs=True):
        model = build()
        made = list(batch())
        args = [value for name, value in made if name is None]
        rows, error = truth.by_hand(model, args, {k: v for k, v in made if k is not None})
    if error is not None:
        raise error
    return {
        "rows": [[getattr(row, field) for field in FIELDS] for row in rows],
        "parameters": sum(p.numel() for p in model.parameters()),
        "tensors": "real" if real else "fake",
    }


@dataclass
class Side:
    rows: list
    parameters: int | None
    tensors: str
    seconds: float
    failure: str | None = None
    fallback: str | None = None


def process(command):
    environment = dict(os.environ, HF_HUB_OFFLINE="1", PYTHONPATH=str(ROOT))
    started = time.monotonic()
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT
        )
        failure = None if done.returncode == 0 else last_words(done.stderr) or "no output"
    except subprocess.TimeoutExpired:
        failure = f"no answer in {TIMEOUT} s"
    return failure, time.monotonic() - started


def last_words(text):
    """Return hookcli's `error:` line, or the last line of a traceback."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return ([line for line in lines if line.startswith("error:")] or lines or [""])[-1]


def by_hand(one, folder):
    file = folder / "truth.json"
    command = [sys.executable, "-m", "benchmarks.proof.run", one.name, "--truth", str(file)]
    failure, seconds = process(command)
    if failure:
        return Side([], None, "?", seconds, failure)
    said = json.loads(file.read_text())
    return Side(said["rows"], said["parameters"], said["tensors"], seconds)


def by_hookcli(one, folder):
    file = folder / "report.json"
    command = [sys.executable, "-m", "hookcli", "inspect", f"transformers:{one.model}"]
    command += [word for text in one.inputs for word in ("--input", text)]
    if one.dtype:
        command += ["--dtype", one.dtype]
    if one.config:
        call = {"call": f"transformers:{one.model}.config_class", "args": one.config}
        command += ["--arg", f"config={json.dumps(call)}"]
    failure, seconds = process([*command, "-f", "json", "-o", str(file)])
    if not file.exists():
        return Side([], None, "?", seconds, failure or "no report")
    report = json.loads(file.read_text())
    place = {row["order"]: i for i, row in enumerate(report["layers"])} | {None: None}
    rows = []
    for row in report["layers"]:
        said = {**row, "parent": place[row["parent"]], "own": row["own_parameters"]}
        for key in ("inputs", "outputs"):
            said[key] = [[leaf["shape"], leaf["dtype"]] for leaf in row[key]]
        rows.append([said[field] for field in FIELDS])
    total = report["totals"]["parameters"]
    if total != report["model"]["parameters"] or len(rows) != report["totals"]["calls"]:
        failure = failure or "the totals of its report disagree with its rows"
    run = report["run"]
    return Side(rows, total, run["tensors"], seconds, failure, run["fallback"])


def difference(truth, said):
    """Return a description of the first difference, or None."""
    for i, (hand, ours) in enumerate(zip(truth.rows, said.rows)):
        if hand != ours:
            fields = " ".join(f for f, a, b in zip(FIELDS, hand, ours) if a != b)
            return f"row {i}, {ours[0]}: {fields}\n    by hand: {hand}\n    hookcli: {ours}"
    if len(truth.rows) != len(said.rows):
        longer, who = max((truth.rows, "by hand"), (said.rows, "hookcli"), key=lambda x: len(x[0]))
        extra = longer[min(len(truth.rows), len(said.rows))]
        return f"{len(truth.rows)} calls by hand, {len(said.rows)} by hookcli; {who}: {extra}"
    if truth.parameters != said.parameters:
        return f"{truth.parameters} parameters by hand, {said.parameters} by hookcli"
    return None


def compare(one):
    """Return the verdict, the results of both sides, and a description of failures."""
    with tempfile.TemporaryDirectory() as folder:
        said = by_hookcli(one, Path(folder))
        truth = by_hand(one, Path(folder))
    both = {"hookcli": said.failure, "by hand": truth.failure}
    failures = [f"{who}: {failure}" for who, failure in both.items() if failure]
    words = "; ".join(failures) or difference(truth, said)
    verdict = "FAILED" if failures else "DIFFERENT" if words else "SAME"
    return verdict, truth, said, words


HEAD = """\
# hookcli compared with hooks attached by hand

`python -m benchmarks.proof.run --markdown docs/measurements/proof-transformers.md` inspects each
model of transformers with hookcli, and runs it in another process with plain PyTorch hooks. That
run uses real tensors if the model has fewer than 700M parameters, and fake tensors otherwise. The
script compares every call: order, name, type, call index, parent, mode, the shapes and dtypes of
all inputs and outputs, and own parameters. It also compares the total number of parameters. An
architecture is SAME if nothing differs.
"""


def table(results):
    lines = [
        HEAD,
        summary(results) + "\n",
        "| architecture | model | verdict | calls | parameters | tensors, hookcli "
        "| tensors, by hand | hookcli, s | by hand, s | note |",
        "|---|---|---|--:|--:|---|---|--:|--:|---|",
    ]
    for one, (verdict, truth, said, words) in results:
        first = (words or "").partition("\n")[0]
        fallback = f"fake tensors failed: {said.fallback}" if said.fallback else ""
        note = "; ".join(filter(None, (one.note, fallback, first))).replace("|", "\\|")
        cells = [one.name, one.model, verdict, len(said.rows), f"{said.parameters or 0:,}"]
        cells += [said.tensors, truth.tensors]
        cells += [f"{said.seconds:.1f}", f"{truth.seconds:.1f}", note]
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def summary(results):
    count = {v: sum(r[0] == v for _, r in results) for v in ("SAME", "DIFFERENT", "FAILED")}
    calls = sum(len(r[2].rows) for _, r in results if r[0] == "SAME")
    said = ", ".join(f"{number} {verdict}" for verdict, number in count.items())
    return f"{len(results)} architectures: {said}; {calls:,} calls are the same."


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", choices=[[], *ARCHITECTURES], metavar="name")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--truth", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.truth:
        warnings.simplefilter("ignore")
        given.truth.write_text(json.dumps(truth_of(ARCHITECTURES[given.names[0]])))
        return 0
    results = []
    for name in given.names or ARCHITECTURES:
        verdict, truth, said, words = result = compare(ARCHITECTURES[name])
        results.append((ARCHITECTURES[name], result))
        print(
            f"{verdict:9} {name:20} {len(said.rows):5} calls  {said.tensors:4} (by hand "
            f"{truth.tensors:4})  {said.parameters or 0:>15,}  {said.seconds:5.1f} s "
            f"(by hand {truth.seconds:5.1f} s)"
            + (f"\n    {words}" if words else "")
            + (f"\n    fell back: {said.fallback}" if said.fallback else ""),
            flush=True,
        )
    print(summary(results))
    if given.markdown:
        given.markdown.write_text(table(results))
    return int(any(result[0] != "SAME" for _, result in results))


if __name__ == "__main__":
    sys.exit(main())
