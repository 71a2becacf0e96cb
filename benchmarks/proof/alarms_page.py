"""Writes docs/measurements/false-alarms.md: counts by rule, and every finding with its cause."""

from __future__ import annotations

from collections import Counter

from benchmarks.proof.verdicts import verdict_of

GROUPS = ("sample", "transformers", "zoo")
COLUMNS = ("models", "passed", "not judged", "faults", "true", "meant", "false")


def words(row):
    return " ".join(row["message"].split()).replace("|", "\\|").replace("<", "&lt;")


def rates(results):
    """Return a line for each rule and group: how many models it judged, with which verdicts.

    The numbers count models. A model with several findings of a rule counts once, by the worst.
    """
    rules = list(dict.fromkeys(row["rule"] for one in results for row in one.rows))
    lines = []
    for rule in rules:
        for group in GROUPS:
            count = Counter()
            for one in results:
                rows = [row for row in one.rows if row["rule"] == rule]
                if one.group != group or not rows:
                    continue
                count["models"] += 1
                bad = [row for row in rows if row["status"] in {"fail", "error"}]
                verdicts = {(verdict_of(one.name, row) or ("unknown",))[0] for row in bad}
                passed = "passed" if rows[0]["status"] == "pass" else "not judged"
                worst = next(
                    (w for w in ("false", "true", "meant", "fault") if w in verdicts), passed
                )
                count["faults" if worst == "fault" else worst] += 1
            if count["models"]:
                cells = [str(count[column]) for column in COLUMNS]
                lines.append(f"| `{rule}` | {group} | {' | '.join(cells)} |")
    return lines


HEAD = """\
# False alarms

`python -m benchmarks.proof.false_alarms --markdown docs/measurements/false-alarms.md` runs
`hookcli check` without a configuration on three groups of models:

- *sample*: every model of `sample_models/`, through the command line;
- *transformers*: {architectures} architectures with their default configs, made so small that they
  run quickly with real tensors, through the command line;
- *zoo*: the {zoo} models of `tests/odd_models`, which are unusual on purpose.

Every finding was reviewed and has a verdict in benchmarks/proof/verdicts.py. The script fails if a
finding has no verdict, if a verdict has no finding, or if a sample or an architecture ends with
another status than 0.

{summary}

A finding is *true* if it is correct and the model's author would want to know about it, *meant* if
it is correct but the architecture intends it, and *false* if it is not correct. Models of the zoo
with an intended *fault* (a NaN, an unused parameter) are counted separately.

"""


def summary(results):
    healthy = [one for one in results if one.group != "zoo"]
    findings = [(one, row) for one in healthy for row in one.findings]
    errors = sum(row["severity"] == "error" for _, row in findings)
    kinds = Counter((verdict_of(one.name, row) or ("unknown",))[0] for one, row in findings)
    failed = sum(one.failure is not None for one in healthy)
    quiet = sum(not one.findings for one in healthy)
    return (
        f"Of {len(healthy)} healthy models (samples and architectures), {failed} fail with the "
        f"defaults and {quiet} have no finding. The others have {len(findings)} findings, "
        f"{errors} of them errors: {kinds['true']} true, {kinds['meant']} meant, "
        f"{kinds['false']} false."
    )


def page(results):
    count = Counter(one.group for one in results)
    head = HEAD.format(
        architectures=count["transformers"], zoo=count["zoo"], summary=summary(results)
    )
    lines = [
        "## By rule\n",
        f"| rule | models | {' | '.join(COLUMNS).replace('models', 'judged', 1)} |",
        f"|---|---|{'--:|' * len(COLUMNS)}",
        *rates(results),
    ]
    for group in GROUPS:
        lines += [
            f"\n## Findings: {group}\n",
            "| model | rule | target | message | verdict |",
            "|---|---|---|---|---|",
        ]
        ours = [one for one in results if one.group == group]
        for one in ours:
            for row in one.findings:
                word, why = verdict_of(one.name, row) or ("**not reviewed**", "")
                target = row["target"].replace("|", "\\|") or "the model"
                level = "" if row["severity"] == "warning" else " (error)"
                lines.append(
                    f"| {one.name} | {row['rule']}{level} | {target} | {words(row)} "
                    f"| {word}: {why} |"
                )
        quiet = [one.name for one in ours if not one.findings]
        lines.append(f"\nNo findings in {len(quiet)} models: {', '.join(quiet)}.")
    return head + "\n".join(lines) + "\n"
