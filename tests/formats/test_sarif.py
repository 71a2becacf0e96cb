"""SARIF: the official schema, what GitHub needs of it, and the words of names."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from hookcli.cli.errors import exit_status
from hookcli.formats.ci.sarif_rules import descriptor
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.report.schema import from_json
from hookcli.rules.catalogue import CATALOGUE
from hookcli.rules.verdict import verdict_of
from tests.formats.checks import BROKEN, CHECK, row
from tests.formats.fabricate import TRACE, report
from tests.formats.test_formats import HOSTILE

SCHEMA = json.loads(
    (Path(__file__).parent / "schemas" / "sarif-schema-2.1.0.json").read_text(encoding="utf-8")
)
VALIDATOR = jsonschema.Draft4Validator(
    SCHEMA, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER
)
HERE = {"root": "/repo", "start": "/repo"}


def log(found=CHECK, **view):
    shown = View(**{**HERE, **view})
    status = exit_status(verdict_of(found, shown.fail_on))
    text = FORMATS["sarif"].render(found, replace(shown, exit_status=status))
    document = json.loads(text)
    VALIDATOR.validate(document)
    return document["runs"][0]


def by_rule(run, rule):
    [found] = [one for one in run["results"] if one["ruleId"] == rule]
    return found


def test_the_schema_is_the_official_one_and_refuses_what_is_wrong():
    assert SCHEMA["id"].endswith("/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json")
    jsonschema.Draft4Validator.check_schema(SCHEMA)
    document = json.loads(FORMATS["sarif"].render(CHECK, View()))
    assert document["$schema"] == SCHEMA["id"]
    document["runs"][0]["results"][0]["level"] = "fatal"
    assert not VALIDATOR.is_valid(document)


@pytest.mark.parametrize("found", [CHECK, BROKEN, TRACE, report("inspect")])
@pytest.mark.parametrize("view", [{}, {"root": "", "start": ""}])
def test_every_report_satisfies_the_schema(found, view):
    log(found, **view)


def test_a_finding_is_a_result_on_its_line_with_its_fingerprint():
    run = log()
    found = by_rule(run, "finite")
    assert found["level"] == "error"
    assert found["message"]["text"] == "fc: the output of fc (Linear) contains 4 NaN in 4 elements"
    assert found["partialFingerprints"] == {"hookcli/v1": "2" * 16}
    [location] = found["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "sub/net.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 12},
    }
    assert location["logicalLocations"] == [{"fullyQualifiedName": "fc", "kind": "module"}]
    assert found["properties"] == {"target": "fc", "severity": "error", "value": 4, "limit": 0}
    assert run["tool"]["driver"]["rules"][found["ruleIndex"]]["id"] == "finite"
    assert run["originalUriBaseIds"] == {"%SRCROOT%": {"uri": "file:///repo/"}}


def test_results_are_those_that_failed_or_are_passed_over_the_worst_first():
    run = log()
    assert [(one["ruleId"], one["level"]) for one in run["results"]] == [
        ("finite", "error"), ("grad_exists", "warning"), ("unused_suppression", "warning"),
        ("uncalled_modules", "note"), ("uncalled_modules", "note"),
    ]  # fmt: skip


def test_what_is_passed_over_says_why():
    suppressed, known = (one for one in log()["results"] if one["ruleId"] == "uncalled_modules")
    assert suppressed["message"]["text"] == "spare: Linear never ran"
    assert suppressed["suppressions"] == [
        {
            "kind": "external",
            "status": "accepted",
            "justification": "for {{v2}}",
            "location": {
                "physicalLocation": {
                    "artifactLocation": {"uri": "c.yaml", "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 7},
                }
            },
        }
    ]
    assert known["message"]["text"] == "old: Linear never ran"
    assert known["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": "known from the baseline"}
    ]


def test_what_github_requires_is_there():
    for found in log()["results"]:
        [location] = found["locations"]
        assert location["physicalLocation"]["artifactLocation"]["uri"]
        assert location["physicalLocation"]["region"]["startLine"] >= 1
        assert found["message"]["text"]
        assert "primaryLocationLineHash" not in found["partialFingerprints"]  # GitHub's own
    old = log()["results"][-1]
    assert old["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "net.py"


@pytest.mark.parametrize("name", [*CATALOGUE, "neutral", "unused_suppression", "of the future"])
def test_a_rule_has_the_texts_that_github_requires(name):
    rule = descriptor(name)
    assert rule["id"] == name
    for key in ("shortDescription", "fullDescription", "help"):
        assert 0 < len(rule[key]["text"]) <= (1024 if key != "help" else 10**5)
    if name in CATALOGUE:
        assert CATALOGUE[name].mend[1:20].replace("{", "{{") in rule["help"]["markdown"]
        assert rule["defaultConfiguration"]["level"] == CATALOGUE[name].severity


def test_a_rule_that_was_judged_stands_among_the_rules_also_where_it_passed():
    rules = [rule["id"] for rule in log()["tool"]["driver"]["rules"]]
    assert rules == [
        "finite", "grad_exists", "uncalled_modules", "deterministic", "batch_independent",
        "output_shape", "unused_suppression",
    ]  # fmt: skip


def test_a_rule_that_could_not_be_judged_is_a_notification():
    [invocation] = log()["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 3)
    [found] = invocation["toolConfigurationNotifications"]
    assert found["associatedRule"]["id"] == "output_shape"
    assert found["message"]["text"] == "head: no module that ran matches 'head'"
    [location] = found["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "c.yaml"


def test_a_model_that_raised_is_a_notification():
    run = log(BROKEN)
    [invocation] = run["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 3)
    [found] = invocation["toolExecutionNotifications"]
    assert found["message"]["text"] == "ValueError in forward in fc: no way"
    assert found["exception"] == {"kind": "ValueError", "message": "no way"}
    assert run["results"] == []


@pytest.mark.parametrize(
    ("fail_on", "code"), [("error", 1), ("warning", 1), ("never", 0)]
)  # fmt: skip
def test_the_exit_code_is_the_command_s(fail_on, code):
    found = report("check", checks=CHECK.checks[:2])
    [invocation] = log(found, fail_on=fail_on)["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (True, code)


@pytest.mark.parametrize(
    ("place", "root", "start", "uri", "inside"),
    [
        ("net.py:3", "/repo", "/repo", "net.py", True),
        ("net.py:3", "/repo", "/repo/sub", "sub/net.py", True),
        ("/repo/a b/n#t.py:3", "/repo", "/repo/sub", "a%20b/n%23t.py", True),
        ("/else/net.py:3", "/repo", "/repo", "file:///else/net.py", False),
        ("/repository/net.py:3", "/repo", "/repo", "file:///repository/net.py", False),
        ("../net.py:3", "/repo", "/repo/sub", "net.py", True),
        ("javascript:alert(1):3", "/repo", "/repo", "javascript%3Aalert%281%29", True),
        ("net.py:3", "", "", "net.py", True),
        ("/else/net.py:3", "", "", "file:///else/net.py", False),
        ("--against", "/repo", "/repo", "net.py", True),
    ],
)
def test_files_are_named_from_the_root(place, root, start, uri, inside):
    found = report("check", checks=(row(place=place),))
    [result] = log(found, root=root, start=start)["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact.get("uriBaseId") == ("%SRCROOT%" if inside else None)
    if place.startswith("--"):  # where a finding has no line, the model's stands in
        uri = "net.py"
    assert artifact["uri"] == uri


@pytest.mark.parametrize("name", [*HOSTILE.values(), "{0} {x}", "[a](1)", "\ud800"])
def test_hostile_names_are_words_and_nothing_else(name):
    rows = tuple(
        row(name, name, status, message=name, value=[name, {name: name}], limit=name,
            place=f"{name}:3", fingerprint=name)
        for status in ("fail", "pass", "skip", "error")
    )  # fmt: skip
    found = report("check", checks=rows)
    text = FORMATS["sarif"].render(found, View(**HERE))
    assert text.isascii()
    assert "##[" not in text
    assert "\x1b" not in json.dumps(json.loads(text), ensure_ascii=False)
    run = log(found)
    said = run["results"][0]["message"]["text"]
    assert "](" not in said
    assert "{0}" not in said.replace("{{", "").replace("}}", "")


def test_there_are_no_more_results_than_github_takes():
    rows = tuple(row(target=f"m{i}", severity="warning") for i in range(25_003))
    text = FORMATS["sarif"].render(
        report("check", checks=(*rows, row(target="worst"))), View(**HERE)
    )
    [run] = json.loads(text)["runs"]
    assert len(run["results"]) == 25_000
    assert run["results"][0]["properties"]["target"] == "worst"
    [found] = run["invocations"][0]["toolExecutionNotifications"]
    assert found["message"]["text"].startswith("4 results are omitted")


def test_a_saved_report_gives_the_same_bytes():
    again = from_json(FORMATS["json"].render(CHECK, View()))
    assert again.checks == CHECK.checks
    for name in ("sarif", "junit", "github", "markdown"):
        assert FORMATS[name].render(again, View(**HERE)) == FORMATS[name].render(
            CHECK, View(**HERE)
        )
