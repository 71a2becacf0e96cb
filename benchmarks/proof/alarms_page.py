"""docs/measurements/false-alarms.md: rates by rule, and a table of every finding and its cause."""

from __future__ import annotations

from collections import Counter

from benchmarks.proof.verdicts import verdict_of

GROUPS = ("sample", "transformers", "zoo")
COLUMNS = ("models", "passed", "not judged", "faults", "true", "meant", "false")


def words(row):
    return " ".join(row["message"].split()).replace("|", "\\|").replace("<", "&lt;")


def rates(results):
    """A line for each rule and group: how many models it judged, and how its findings turned out.

    Figures are of models: one with several findings of a rule counts once, by the worst of them.
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
                said = {(verdict_of(one.name, row) or ("unknown",))[0] for row in bad}
                passed = "passed" if rows[0]["status"] == "pass" else "not judged"
                worst = next((w for w in ("false", "true", "meant", "fault") if w in said), passed)
                count["faults" if worst == "fault" else worst] += 1
            if count["models"]:
                cells = [str(count[column]) for column in COLUMNS]
                lines.append(f"| `{rule}` | {group} | {' | '.join(cells)} |")
    return lines


HEAD = """\
# False alarms

`python -m benchmarks.proof.false_alarms --markdown docs/measurements/false-alarms.md` runs
`hookcli check`, with nothing configured, over every sample model, {architectures}
architectures of transformers (with
their own default configs, made small so that they run for real in a moment; each through the
command line, in a process of its own), and the {zoo} models of the zoo, which are odd on purpose.
Every finding was looked at, and has a word in benchmarks/proof/verdicts.py. The script fails where
one has none, where a word has lost its finding, and where a sample or an architecture does not end
with status 0.

{summary}

A finding is *true* where something is as it says and its author would want to know, *meant* where
it is as it says and the architecture wants it so, *false* where it is not so. The models of the zoo
with a planted *fault* of the kind (a NaN, a parameter that is not used) are counted apart.

"""


def summary(results):
    healthy = [one for one in results if one.group != "zoo"]
    findings = [(one, row) for one in healthy for row in one.findings]
    errors = sum(row["severity"] == "error" for _, row in findings)
    kinds = Counter((verdict_of(one.name, row) or ("unknown",))[0] for one, row in findings)
    failed = sum(one.failure is not None for one in healthy)
    quiet = sum(not one.findings for one in healthy)
    return (
        f"Of {len(healthy)} healthy models (samples and architectures) {failed} fail with the "
        f"defaults, {quiet} have no finding at all. The others have {len(findings)} findings, "
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
            "| model | rule | target | it says | verdict |",
            "|---|---|---|---|---|",
        ]
        ours = [one for one in results if one.group == group]
        for one in ours:
            for row in one.findings:
                word, why = verdict_of(one.name, row) or ("**not looked at**", "")
                target = row["target"].replace("|", "\\|") or "the model"
                level = "" if row["severity"] == "warning" else " (error)"
                lines.append(
                    f"| {one.name} | {row['rule']}{level} | {target} | {words(row)} "
                    f"| {word}: {why} |"
                )
        quiet = [one.name for one in ours if not one.findings]
        lines.append(f"\nNothing was found in {len(quiet)}: {', '.join(quiet)}.")
    return head + "\n".join(lines) + "\n"
