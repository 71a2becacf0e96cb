"""Reference pages are what the program says. UPDATE_DOCS=1 writes them."""

from __future__ import annotations

import ast

import pytest

from hookcli.catalogue.probes import PROBES, Way
from hookcli.cli.commands import COMMANDS
from hookcli.comparison.schema import diff_schema, run_diff_schema
from hookcli.report.schema import json_schema, training_schema
from hookcli.rules.catalogue import CATALOGUE
from hookcli.rules.rule import Rule
from tests.conftest import ROOT
from tests.docs.generated import check_page, check_parts, table
from tests.docs.markdown import DOCS
from tests.docs.reference import flags_of, flags_page, formats_page, json_page, options
from tests.source_code import tree_of

REFERENCE = DOCS / "reference"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_of_a_command_has_its_options(command):
    check_parts(DOCS / "commands" / f"{command}.md", {"options": lambda: options(command)})


def test_the_page_of_flags():
    check_page(REFERENCE / "flags.md", flags_page())


def test_the_page_of_formats():
    check_page(REFERENCE / "formats.md", formats_page())


def test_the_page_of_the_report():
    check_page(REFERENCE / "json-report.md", json_page("The report", "report", json_schema()))


def test_the_page_of_the_diff():
    check_page(REFERENCE / "json-diff.md", json_page("The diff", "diff", diff_schema()))


def test_the_page_of_a_training():
    page = json_page("The report of a training", "run", training_schema(), base=json_schema())
    check_page(REFERENCE / "json-run.md", page)


def test_the_page_of_the_diff_of_trainings():
    page = json_page("The diff of two trainings", "rundiff", run_diff_schema())
    check_page(REFERENCE / "json-rundiff.md", page)


def folders() -> str:
    """Every folder of the package, and every file beside them, with its first sentence."""
    package = ROOT / "hookcli"
    inits = [path for path in package.rglob("__init__.py") if path.parent != package]
    files = [path for path in package.glob("*.py") if not path.name.startswith("_")]
    sentences = {}
    for path in (*inits, *files):
        text = ast.get_docstring(tree_of(path)) or ""
        name = (path.parent if path.name == "__init__.py" else path).relative_to(ROOT).as_posix()
        sentences[name] = " ".join(text.partition("\n\n")[0].split())
    return table(
        ["folder or file", "content"],
        ([f"`{name}`", text] for name, text in sorted(sentences.items())),
    )


def evidence() -> str:
    """Each rule that is judged for a verdict, and what its sentence is based on."""
    rules = [rule for rule in CATALOGUE.values() if rule.diagnoses or rule.safe or rule.of_training]
    return table(
        ["rule", "says that", "severity", "based on"],
        ([f"`{rule.name}`", rule.says, rule.severity, _basis_of(rule)] for rule in rules),
    )


def _basis_of(rule: Rule) -> str:
    options = rule.filled({})
    needed = {one.name: PROBES[one.name] for one in (*rule.needs(options), *rule.watches(options))}
    runs = [one.cost for one in needed.values() if one.way in {Way.RERUNS, Way.SEPARATE}]
    if runs:
        return "further runs: " + "; ".join(runs)
    if rule.every_step:
        return "every step"
    return "steps in detail" if rule.of_training and not rule.diagnoses else "the run"


def test_the_guide_tells_what_each_rule_of_the_verdict_is_based_on():
    check_parts(DOCS / "guides" / "verdict.md", {"evidence": evidence})


def test_contributing_has_a_line_for_every_folder():
    check_parts(ROOT / "CONTRIBUTING.md", {"folders": folders})


@pytest.mark.parametrize("command", COMMANDS)
def test_every_flag_has_words(command):
    for flag in flags_of(command):
        assert flag.text.endswith((".", ")")), flag
