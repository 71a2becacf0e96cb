"""A model of a file, judged in this process as the command does it; one rule, on a given report."""

from __future__ import annotations

from pathlib import Path

from hookcli.config.load import read_text
from hookcli.config.merge import Flags, spec_of
from hookcli.engine.attempt import Session
from hookcli.rules.catalogue import CATALOGUE
from hookcli.rules.judge import judge_report
from hookcli.spec.request import Attempt

HERE = Path(__file__).parent


def spec_for(source, yaml="{preset: none}"):
    return spec_of("check", read_text(yaml, "checks.yaml"), Flags(model=str(source)))


def judge(source, yaml="{preset: none}"):
    """The report, with its checks."""
    spec = spec_for(source, yaml)
    report = Session(spec, Attempt("real"), lambda *_: None).run().report
    return judge_report(report, spec.checks, spec.suppressions)


def failed(report):
    """(rule, target) of what failed."""
    return [(row.rule, row.target) for row in report.checks if row.status == "fail"]


def rows(report, rule):
    return [row for row in report.checks if row.rule == rule]


def found(rule, made, **options):
    """The findings of a rule."""
    rule = CATALOGUE[rule]
    return list(rule.judge(made, rule.filled(options)))


def only(rule, made, **options):
    [finding] = found(rule, made, **options)
    return finding
