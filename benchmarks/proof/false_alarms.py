"""Counts false alarms of the safe rules on healthy models.

`python -m benchmarks.proof.false_alarms [names] [--markdown F]` checks every sample model, every
model of the zoo and small versions of models of transformers. Each finding was reviewed and has a
verdict in benchmarks/proof/verdicts.py. A finding without a verdict, or a verdict without a
finding, fails.
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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from threading import Lock

from benchmarks.proof.alarms_page import page, summary
from benchmarks.proof.small import SMALL, config_of
from benchmarks.proof.verdicts import FAULTS, VERDICTS, verdict_of

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted(path.stem for path in (ROOT / "sample_models").glob("*.py"))
TIMEOUT = 300
IMPORTING = Lock()


@dataclass
class Judged:
    """One model: the rows of its check, or why there are none."""

    name: str
    group: str
    rows: list = field(default_factory=list)
    failure: str | None = None
    seconds: float = 0.0

    @property
    def findings(self):
        return [row for row in self.rows if row["status"] in {"fail", "error"}]


def process(command):
    environment = dict(os.environ, HF_HUB_OFFLINE="1", PYTHONPATH=str(ROOT))
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT
        )
    except subprocess.TimeoutExpired:
        return None, f"no answer in {TIMEOUT} s"
    lines = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    return done.returncode, (lines or [""])[-1]


def command_of(name):
    """Return hookcli's arguments for a sample or a model of transformers."""
    if name not in SMALL:
        return [f"sample_models/{name}.py"]
    one = SMALL[name]
    with IMPORTING:  # transformers imports its modules when they are first used
        import transformers

        config = config_of(one, getattr(transformers, one.model).config_class)
    call = {"call": f"transformers:{one.model}.config_class", "args": config}
    command = [f"transformers:{one.model}", "--arg", f"config={json.dumps(call)}"]
    for key, shape, high in one.inputs:
        sizes = "x".join(map(str, shape))
        command += ["--input", f"{key}={sizes}" + (f":int64:1..{high}" if high else "")]
    return command


def by_the_command(name):
    """Run the command as a user does, in a separate process; status 0 is a passed check."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "report.json")
        command = [sys.executable, "-m", "hookcli", "check", *command_of(name), "-f", "json"]
        status, said = process([*command, "-o", str(file)])
        rows = json.loads(file.read_text())["checks"] if file.exists() else []
    failure = None if status == 0 else f"status {status}: {said}"
    group = "transformers" if name in SMALL else "sample"
    return Judged(name, group, rows, failure, time.monotonic() - started)


def of_the_zoo(name):
    """Judge a model of the zoo, in this process."""
    from hookcli.config.merge import Flags, spec_of
    from hookcli.report.encode import to_json
    from hookcli.rules.judge import judge_report
    from hookcli.run.attempt import Session
    from hookcli.spec.inputs import parse_inputs
    from hookcli.spec.request import Attempt

    source = ROOT / "tests" / "odd_models" / "source.py"
    inputs = parse_inputs((f"{source}:{name}__batch",))
    spec = spec_of("check", None, Flags(model=f"{source}:{name}", inputs=inputs))
    started = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = Session(spec, Attempt("real"), lambda *_: None).run().report
        rows = json.loads(to_json(judge_report(report, spec.checks)))["checks"]
    failure = None if report.error is None else f"{report.error.type}: {report.error.message}"
    return Judged(name, "zoo", rows, failure, time.monotonic() - started)


def judge(name):
    return by_the_command(name) if name in SMALL or name in SAMPLES else of_the_zoo(name)


def everything():
    from tests.odd_models import ODD

    return [*SAMPLES, *SMALL, *ODD]


def unjudged(results):
    """Return the findings without a verdict."""
    return [
        (one.name, row["rule"], row["target"], row["message"])
        for one in results
        for row in one.findings
        if verdict_of(one.name, row) is None
    ]


def stale(results):
    """Return the verdicts without a finding."""
    found = []
    for key in (*VERDICTS, *FAULTS):
        model, rule, target = key
        ours = [one for one in results if fnmatchcase(one.name, model)]
        told = any(
            fnmatchcase(row["rule"], rule) and fnmatchcase(row["target"], target)
            for one in ours
            for row in one.findings
        )
        if ours and not told:
            found.append(key)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="name")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    names = given.names or everything()
    apart = [name for name in names if name in SMALL or name in SAMPLES]
    results = []
    with ThreadPoolExecutor(given.jobs) as pool:
        for one in pool.map(judge, apart):
            results.append(one)
            told(one)
    for name in names:
        if name not in apart:
            results.append(of_the_zoo(name))
            told(results[-1])
    new, old = unjudged(results), stale(results)
    failed = [one for one in results if one.failure is not None and one.group != "zoo"]
    for line in (*(f"not looked at: {one}" for one in new), *(f"stale: {one}" for one in old)):
        print(line)
    print(summary(results))
    if given.markdown:
        given.markdown.write_text(page(results))
    return int(bool(new or old or failed))


def told(one):
    print(f"{one.name:24} {one.seconds:5.1f} s  {one.failure or ''}", flush=True)
    for row in one.findings:
        word = (verdict_of(one.name, row) or ("NOT LOOKED AT",))[0]
        line = f"    {row['severity']} {row['rule']} '{row['target']}': {row['message']} [{word}]"
        print(line, flush=True)
    for row in one.rows:
        if row["status"] == "skip":
            print(f"    skip {row['rule']}: {row['message']}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
