"""action.yml as GitHub's runner performs it: its own steps, its own shell, made-up surroundings."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tests.conftest import ROOT
from tests.formats.checks import Runner

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"]}
_EXPRESSION = re.compile(r"\$\{\{ *([\w.-]+) *\}\}")


@dataclass
class Done:
    status: int
    log: str
    outputs: dict[str, str]
    summary: str
    runner: Runner = field(default_factory=Runner)

    def __post_init__(self):
        self.runner.read(self.log)


def resolve(text, inputs):
    """Expressions filled in, which only `inputs.x` and `github.action_path` may be."""
    values = {f"inputs.{name}": value for name, value in inputs.items()}
    values["github.action_path"] = str(ROOT)
    return _EXPRESSION.sub(lambda m: values[m[1]], text)


def run_step(name, workspace: Path, temp: Path, **given) -> Done:
    """Run a step with inputs over the defaults; names are with underscores here."""
    defaults = {key: one.get("default", "") for key, one in ACTION["inputs"].items()}
    given = {key.replace("_", "-"): str(value) for key, value in given.items()}
    assert given.keys() <= defaults.keys()
    inputs = {**defaults, **given}
    step = STEPS[name]
    assert step["shell"] == "bash"
    script, output, summary = temp / f"{name}.sh", temp / "output", temp / "summary"
    script.write_text(step["run"])
    output.touch()
    summary.touch()
    folder = workspace / resolve(step.get("working-directory", "."), inputs)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("COLUMNS", "GITHUB_"))}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
        cwd=folder,
        env={
            **clean,
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(workspace),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(summary),
            "RUNNER_TEMP": str(temp),
            **{key: resolve(value, inputs) for key, value in step["env"].items()},
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    return Done(done.returncode, done.stdout, outputs(output.read_text()), summary.read_text())


def outputs(text):
    """A file of outputs as the runner reads it: name=value, and name<<END … END."""
    found, lines = {}, iter(text.splitlines())
    for line in lines:
        name, heredoc, end = line.partition("<<")
        if not heredoc or "=" in name:
            name, _, found[name] = line.partition("=")
            continue
        body = []
        for inner in lines:
            if inner == end:
                break
            body.append(inner)
        found[name] = "\n".join(body)
    return found
