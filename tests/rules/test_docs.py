"""docs/reference/rules.md: its tables are those of the catalogue.

UPDATE_DOCS=1 writes them.
"""

from __future__ import annotations

from hookcli.catalogue.probes import PROBES
from hookcli.reference.rules import costs
from hookcli.rules.catalogue import CATALOGUE, probes_of
from hookcli.spec.checks import CheckSpec
from tests.conftest import ROOT
from tests.docs.generated import check_parts, table

DOCS = ROOT / "docs"


def of_rules():
    rows = [
        [
            f"[{rule.name}](#{rule.name})",
            rule.severity,
            "yes" if rule.safe else "",
            rule.says,
        ]
        for rule in CATALOGUE.values()
    ]
    return table(["rule", "severity", "safe set", "it checks that"], rows)


def of_probes():
    def rules(probe):
        needing = [
            f"`{rule.name}`"
            for rule in CATALOGUE.values()
            if probe in {one.name for one in probes_of((CheckSpec(rule.name),))}
        ]
        return ", ".join(needing) or "only if an option requires it"

    rows = [[f"`{name}`", row.cost, rules(name)] for name, row in PROBES.items()]
    return table(["probe", "costs", "used by"], rows)


def section(rule):
    options = [
        [f"`{one.name}`", one.does, "required" if one.required else said(one.default)]
        for one in rule.options
    ]
    parts = [
        f"## {rule.name}\n",
        f"{rule.computes}\n",
        f"```yaml\nchecks:\n  - {rule.example}\n```\n",
        table(
            ["", ""],
            [
                ["formula", f"`{rule.formula}`"],
                ["costs", costs(rule)],
                ["fails", rule.fails],
                ["fix", rule.mend],
                ["source", rule.source],
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


def of_sections():
    return "\n" + "\n".join(section(rule) for rule in CATALOGUE.values())


def test_the_page_of_the_rules_is_that_of_the_catalogue():
    parts = {"rules": of_rules, "probes": of_probes, "sections": of_sections}
    check_parts(DOCS / "reference" / "rules.md", parts)
