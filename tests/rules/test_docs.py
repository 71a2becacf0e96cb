"""docs/check.md: its tables and sections are those of the catalogue, its examples read.

UPDATE_DOCS=1 writes them.
"""

from __future__ import annotations

import os
import re

import pytest

from hookcli.config.load import read_text
from hookcli.reference.rules import costs
from hookcli.rules.catalogue import CATALOGUE
from hookcli.rules.rule import PROBES
from tests.config.test_docs import table
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "check.md"
TEXT = PAGE.read_text()


def of_rules():
    rows = [
        [f"[{rule.name}](#{rule.name})", rule.severity, "yes" if rule.safe else "", rule.says]
        for rule in CATALOGUE.values()
    ]
    return table(["rule", "severity", "safe set", "it says"], rows)


def of_probes():
    def rules(probe):
        needing = [
            f"`{rule.name}`"
            for rule in CATALOGUE.values()
            if any(probe in one.partition(":")[0] for one in rule.needs(rule.filled({})))
        ]
        return ", ".join(needing) or "where an option asks for it"

    rows = [[f"`{name}`", cost, rules(name)] for name, cost in PROBES.items()]
    return table(["probe", "costs", "wanted by"], rows)


def section(rule):
    options = [
        [f"`{one.name}`", one.does, "needed" if one.required else said(one.default)]
        for one in rule.options
    ]
    parts = [
        f"### {rule.name}\n",
        f"{rule.computes}\n",
        f"```yaml\nchecks:\n  - {rule.example}\n```\n",
        table(
            ["", ""],
            [
                ["formula", f"`{rule.formula}`"],
                ["costs", costs(rule)],
                ["fails", rule.fails],
                ["mend", rule.mend],
                ["after", rule.source],
            ],
        ),
    ]
    if options:
        parts.append(table(["option", "is", "default"], options))
    return "\n".join(parts)


def said(default):
    if default is None:
        return ""
    shown = list(default) if isinstance(default, tuple) else default
    text = {True: "true", False: "false"}.get(default) if isinstance(default, bool) else shown
    return f"`{text}`".replace("'", "") if not isinstance(default, str) else f'`"{default}"`'


PARTS = {
    "rules": of_rules,
    "probes": of_probes,
    "sections": lambda: "\n" + "\n".join(section(rule) for rule in CATALOGUE.values()),
}


def generated():
    text = TEXT
    for name, make in PARTS.items():
        between = re.compile(rf"(<!-- generated: {name} -->\n).*?(<!-- end -->)", re.S)
        assert between.search(text), name
        text = between.sub(lambda m, make=make: f"{m[1]}{make()}{m[2]}", text)
    return text


def test_the_page_is_that_of_the_catalogue():
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(generated())
        return
    assert generated() == TEXT, "UPDATE_DOCS=1 writes it anew"


EXAMPLES = [
    text for text in re.findall(r"```yaml\n(.*?)```", TEXT, re.S) if "report: good.json" not in text
]


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_reads(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text("")
    read_text(EXAMPLES[number], "checks.yaml")
