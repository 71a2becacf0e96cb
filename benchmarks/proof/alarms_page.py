"""Writes docs/measurements/false-alarms.md: counts by rule, and every sentence with its verdict."""

from __future__ import annotations

from collections import Counter

from benchmarks.proof.cases import APART, GROUPS

WORDS = ("false", "true", "meant", "fault")
COLUMNS = ("models", "passed", "not judged", "fault", "true", "meant", "false")


def escape(text):
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def rates(results):
    """Return a line for each rule and group: how many models it judged, with which verdicts.

    The numbers count models. A model with several findings of a rule counts once, by the worst.
    """
    rules = list(dict.fromkeys(row["rule"] for one in results for row in one.rows))
    lines = []
    for rule in rules:
        for group in GROUPS:
            count = Counter(
                _of_rule(one, rule)
                for one in results
                if one.case.group == group and any(row["rule"] == rule for row in one.rows)
            )
            if count:
                cells = [count.total(), *(count[column] for column in COLUMNS[1:])]
                lines.append(f"| `{rule}` | {group} | {' | '.join(map(str, cells))} |")
    return lines


def _of_rule(one, rule):
    """Return the worst verdict on the findings of a rule, or whether it passed."""
    told = {
        verdict[0] if verdict else "unknown"
        for diagnosis, verdict in one.verdicts
        if rule in diagnosis["rules"]
    }
    passed = any(row["rule"] == rule and row["status"] == "pass" for row in one.rows)
    return next((w for w in WORDS if w in told), "passed" if passed else "not judged")


HEAD = """\
# False alarms

`python -m benchmarks.proof.false_alarms --markdown docs/measurements/false-alarms.md --python PATH`
runs `hookcli check` without a configuration, through the command line, on these groups of models
(PATH is an interpreter with timm and torchvision):

{groups}

Every sentence of the verdict was reviewed and has a verdict of its own in
benchmarks/proof/verdicts.py. The script fails if a sentence has none, if a verdict has no sentence,
or if a healthy model ends with another status than 0.

{summary}

A sentence is *true* if it is correct and the model's author would want to know about it, *meant* if
it is correct but the architecture intends it, and *false* if it is not correct. The models of the
zoo, of which some have an intended *fault* (a NaN, an unused parameter), are not counted here.

"""


def healthy(results):
    return [one for one in results if one.case.group not in APART]


def with_verdict(results, word):
    return [one for one in results if any(v and v[0] == word for _, v in one.verdicts)]


def summary(results):
    ours = healthy(results)
    if not ours:
        return "no healthy model ran"
    count = {word: len(with_verdict(ours, word)) for word in WORDS}
    failed = sum(one.failure is not None for one in ours)
    spoken = sum(bool(one.diagnoses) for one in ours)
    share = 100 * count["false"] / len(ours)
    return (
        f"Of {len(ours)} runs of {len({one.case.model for one in ours})} healthy models, {failed} "
        f"end with another status than 0. The verdict says nothing about {len(ours) - spoken}, and "
        f"something false about {count['false']} ({share:.1f} %), something true about "
        f"{count['true']}, something meant about {count['meant']}."
    )


def page(results):
    count = Counter(one.case.group for one in results)
    groups = "\n".join(
        f"- *{group}*, {count[group]} runs: {what};"
        for group, what in GROUPS.items()
        if count[group]
    )
    head = HEAD.format(groups=groups[:-1] + ".", summary=summary(results))
    lines = [
        "## By rule\n",
        "Checks of the safe set, and findings of other rules that diagnose.\n",
        f"| rule | models | {' | '.join(COLUMNS).replace('models', 'judged', 1)} |",
        f"|---|---|{'--:|' * len(COLUMNS)}",
        *rates(results),
    ]
    for group in GROUPS:
        ours = [one for one in results if one.case.group == group]
        if not ours:
            continue
        lines += [f"\n## Sentences: {group}\n", *_sentences(ours)]
        quiet = [one.case.name for one in ours if not one.diagnoses]
        lines.append(f"\nNothing about {len(quiet)} models: {', '.join(quiet)}.")
    return head + "\n".join(lines) + "\n"


def _sentences(results):
    if not any(one.diagnoses for one in results):
        return []
    lines = ["| model | cause | sentence | verdict |", "|---|---|---|---|"]
    for one in results:
        for diagnosis, verdict in one.verdicts:
            word, why = verdict or ("**not reviewed**", "")
            level = "" if diagnosis["severity"] == "warning" else " (error)"
            sentence = escape(diagnosis["sentence"])
            lines.append(
                f"| {one.case.name} | {diagnosis['cause']}{level} | {sentence} | {word}: {why} |"
            )
    return lines
