"""Runs a part of the test suite in an environment, and counts what passed."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from benchmarks.versions.environments import ROOT, Version, output

PACKAGES = ("numpy", "pydantic", "typer", "transformers")
NEEDS = "needs torch "  # how the reason of a test begins that an older torch skips

# What shows outputs of the pinned versions is not run: docs, and the pages of benchmarks.
PARTS = (
    "hooks", "engine", "rules", "models", "inputs", "actions", "api", "worker", "distributed",
    "report", "formats", "comparison", "snapshot", "spec", "config", "catalogue", "reference",
    "cli", "ci", "messages", "test_torch_private.py", "test_samples.py", "test_transformers.py",
)  # fmt: skip


@dataclass
class Part:
    """The outcome of one folder of tests. `skipped` counts those that the version cannot run."""

    passed: int
    failed: list[str]
    skipped: dict[str, int]
    seconds: float


@dataclass
class Outcome:
    """The outcomes of one version. A part that is run again replaces the earlier outcome."""

    torch: str
    python: str
    packages: dict[str, str]
    parts: dict[str, Part] = field(default_factory=dict)


def environment_of(python: Path) -> Outcome:
    """Return an outcome without parts: the versions of an environment."""
    text = output(
        python,
        "import json, sys, torch; from importlib.metadata import version; "
        f"print(json.dumps([torch.__version__, sys.version.split()[0], "
        f"{{name: version(name) for name in {PACKAGES}}}]))",
    )
    return Outcome(*json.loads(text))


def run_part(python: Path, part: str, processes: int) -> Part:
    """Run the tests in tests/PART."""
    with tempfile.TemporaryDirectory() as folder:
        xml, log = Path(folder, "junit.xml"), Path(folder, "log.txt")
        with log.open("w") as out:
            subprocess.run(
                [python, "-m", "pytest", "-q", "-n", str(processes), "-p", "no:cacheprovider",
                 *_plugin(python), f"--junitxml={xml}", f"tests/{part}"],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdout=out,
                stderr=subprocess.STDOUT,
            )  # fmt: skip
        if not xml.exists():
            last = log.read_text().strip().splitlines()[-1:]
            return Part(0, [f"tests/{part}: pytest failed: {' '.join(last)}"], {}, 0)
        return count(xml)


def _plugin(python: Path) -> list[str]:
    """Return the flags that load hookcli's pytest plugin where hookcli is not installed."""
    code = "from importlib.metadata import version; version('hookcli')"
    done = subprocess.run([python, "-c", code], capture_output=True)
    return ["-p", "hookcli.pytest_plugin"] if done.returncode else []


def count(xml: Path) -> Part:
    """Return the outcome in a JUnit file of pytest."""
    passed, failed, skipped = 0, [], Counter()
    suite = ElementTree.parse(xml).getroot().find("testsuite")
    for case in suite.iter("testcase"):
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(f"{case.get('classname')}::{case.get('name')}")
        elif skip is None:
            passed += 1
        elif (reason := skip.get("message", "")).startswith(NEEDS):
            skipped[reason] += 1
    return Part(passed, sorted(failed), dict(skipped), float(suite.get("time", 0)))


def saved(folder: Path, version: Version) -> Outcome | None:
    """Return the outcome that an earlier run saved."""
    path = _file(folder, version)
    if not path.exists():
        return None
    data = json.loads(path.read_text())
    data["parts"] = {name: Part(**part) for name, part in data["parts"].items()}
    return Outcome(**data)


def save(folder: Path, version: Version, outcome: Outcome) -> None:
    """Save an outcome for the page, and for a later run of other parts."""
    path = _file(folder, version)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(outcome), indent=2) + "\n")


def _file(folder: Path, version: Version) -> Path:
    return folder / "outcomes" / f"{version.name}.json"
