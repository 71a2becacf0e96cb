"""How each tool is added to a training script, as its documentation says.

A training names what to watch in a comment, `# watch: model, optimizer`, and has one loop of 60
steps. `edited` writes the lines of a tool into a copy of it; hookcli has none.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that observes a training.

    Attributes:
        distribution: Its name on PyPI.
        first: Lines before those of the script.
        watch: Lines at each `# watch: {model}, {optimizer}`.
        around: A `with` statement around the body of the loop.
        inside: Lines at the end of the body.
        last: Lines at the end of the script, for each watched `{model}`.
        command: What comes before the path of the script on the command line.
        files: Files that the tool reads, and their text.
        finding: What matches the messages in its output.
    """

    distribution: str
    first: str = ""
    watch: str = ""
    around: str = ""
    inside: str = ""
    last: str = ""
    command: tuple[str, ...] = (sys.executable,)
    files: tuple[tuple[str, str], ...] = ()
    finding: str = "(?!)"

    @property
    def lines(self) -> int:
        """How many lines the tool adds to a script with one model."""
        parts = (self.first, self.watch, self.around, self.inside, self.last)
        return sum(part.count("\n") for part in parts)

    @property
    def version(self) -> str | None:
        """The installed version, or None."""
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return None


MSPROBE = {
    "targets": {},
    "xy_distribution": True,
    "forward_only": True,
    "wg_distribution": True,
    "param_distribution": True,
    "ops": ["norm", "max", "nans"],
    "alert": {"rules": [
        {"rule_name": "AnomalyTurbulence", "args": {"threshold": 0.5}},
        {"rule_name": "AnomalyNan"},
    ]},
}  # fmt: skip

PLAIN = Tool("torch")
TOOLS = {
    "hookcli": Tool(
        "hookcli",
        command=(sys.executable, "-m", "hookcli", "run"),
        finding=r"^(error|warning|note): .*",
    ),
    "torch-audit": Tool(
        "torch-audit",
        first="from torch_audit import autopatch\n"
        "from torch_audit.reporters.json import JSONReporter\n",
        watch="{model}_audit = autopatch({model}, optimizer={optimizer}, every_n_steps=1, "
        'fail_level="FATAL", reporters=[], run_static=True, run_init=True)\n',
        last="{model}_audit.reporters = [JSONReporter()]\n{model}_audit.finish(report=True)\n",
        finding=r'(?<="message": ").*(?=",$)',
    ),
    "torchlens": Tool(
        "torchlens",
        first="from torchlens.checks import ChecksSession\n",
        watch="{model}_checks = ChecksSession({model}, {optimizer})\n"
        "{model}_checks.register_change_check()\n"
        '{model}_checks.register_nonfinite_gradient_check(action="collect")\n'
        '{model}_checks.register_nonfinite_param_check(action="collect")\n'
        "{model}_checks.register_magnitude_check()\n"
        "{model}_checks.attach()\n",
        last="print({model}_checks.report().to_json())\n",
        finding=r'(?<="message": ")(?!accepted step \d+: \d+ param).*(?=",$)'
        r'|"(?:in_no_optimizer|requires_grad_false)": \[\s+".*',
    ),
    "msprobe": Tool(
        "mindstudio-probe",
        first="from msprobe.pytorch import TrainerMon\n",
        watch='{model}_monitor = TrainerMon("monitor.json", params_have_main_grad=False)\n'
        "{model}_monitor.set_monitor({model}, {optimizer})\n",
        files=(("monitor.json", json.dumps(MSPROBE)),),
        finding=r"Rule \w+ reports anomaly .*",
    ),
    "TraceML": Tool(
        "traceml-ai",
        first='import traceml_ai as traceml\ntraceml.init(mode="auto")\n',
        around="with traceml.trace_step({model}):\n",
        command=(
            str(Path(sys.executable).with_name("traceml")),
            "run",
            "--no-save-training-output",
        ),
        finding=r"(Verdict|Why): .*\w",
    ),
    "wandb": Tool(
        "wandb",
        first='import wandb\nwandb.init(mode="offline")\n',
        watch='wandb.watch({model}, log="all", log_freq=1)\n',
        inside='wandb.log({"loss": loss.item()})\n',
        finding=r"(WARNING|ERROR) .*",
    ),
}


def edited(tool: Tool, source: str) -> str:
    """The script with the lines of the tool."""
    watched = re.findall(r"^# watch: (\w+), (\w+)$", source, re.MULTILINE)
    before, loop, body = re.split(r"^(for \w+ in range\(60\):\n)", source, flags=re.MULTILINE)
    tail = re.search(r"^(?=\S)", body, re.MULTILINE)  # what follows the loop
    body, after = (body[: tail.start()], body[tail.start() :]) if tail else (body, "")
    inner = body + _indented(tool.inside)
    if tool.around:
        inner = _indented(tool.around.format(model=watched[0][0]) + inner)
    for model, optimizer in watched:
        comment = f"# watch: {model}, {optimizer}\n"
        lines = tool.watch.format(model=model, optimizer=optimizer)
        before = before.replace(comment, comment + lines)
        after += tool.last.format(model=model)
    return tool.first + before + loop + inner + after


def run(tool: Tool, source: str, folder: Path) -> str:
    """What the tool prints for a script that runs in the folder."""
    path = folder / "train.py"
    path.write_text(edited(tool, source))
    for name, text in tool.files:
        (folder / name).write_text(text)
    here = str(Path(__file__).parents[2])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200", "PYTHONPATH": here}
    done = subprocess.run(
        [*tool.command, "train.py"], capture_output=True, text=True, cwd=folder, env=environment
    )
    return f"{done.stdout}{done.stderr}\nexit status {done.returncode}\n"


def _indented(text: str) -> str:
    return "".join(f"    {line}" for line in text.splitlines(keepends=True))
