"""Each message is plain English: short, of standard terms, with a hint that says what to do.

`python -m tests.messages.collect` prints what is checked here.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict

import pytest

from tests.messages.collect import VALUE, messages

LONGEST = 25  # words
AVOIDED = re.compile(
    r"""\b(
    wants? | stands? | anew | whoever | naught | thereof | kin | told | so\ far\ as
    | (is|are)\ no(?!t|ne|\ longer) | twice\ over
    | (leaves?|takes?)\ (it|this|that|them|one)\ out
    | of\ yours | of\ its\ own | texts | a\ text(?!\ file) | alike | (have|has)\ to\ be
    | lets?\ pass | says? | said | holds?(?!\ for) | beside | as\ it\ were
    | did\ you\ mean | not\ taken
    )\b""",
    re.VERBOSE,
)
IMPERATIVES = frozenset(
    """
    add attach build call change check choose close compare compute convert copy correct create
    decrease define delete describe disable divide do enable export extend fetch fill find fix
    free freeze give import increase initialize insert inspect install keep leave list load look
    lower make merge mount move multiply name omit open pass pick put quote raise read rebuild
    reduce register remove rename repeat replace report request restart retry return reuse
    rewrite run save script see select send set share shorten show sort specify split start
    state stop store supply suppress switch take train trust try turn uninstall unwrap update
    upgrade use verify wait wrap write
    """.split()
)
PROPER = re.compile(
    r"[‹`'\"(\-\[{]|A's|B's|A\b|B\b|PyTorch|TorchScript|Python|YAML|JSON|NaN|Inf|MODEL|[A-Z]{2,}"
    r"|[A-Z]\w*[A-Z]\w*|DataLoader|Tensor\b|Module\."
)


@functools.cache
def written():
    return [message for message in messages() if not message.passed_on]


def failures(role, wrong):
    return [
        f"{message.place}: {message.text}"
        for message in written()
        if message.role in role and wrong(message)
    ]


def test_there_are_messages_to_check():
    """The collector sees what it is made for: a known message, and a hint that a function makes."""
    texts = {message.text for message in written()}
    assert len(texts) > 700
    assert any(text.startswith("try ‹") for text in texts)
    assert "--update-baseline requires --baseline" in texts


EVERY = ("message", "hint", "hints", "note")
RULES = {
    "no period at the end": (EVERY, lambda m: m.text.endswith(".")),
    "at most 25 words": (EVERY, lambda m: len(m.words) > LONGEST),
    "no word from the list to avoid": (EVERY, lambda m: AVOIDED.search(m.text) is not None),
    "begins in lower case": (
        ("message", "note"),
        lambda m: len(m.words) > 1 and m.text[:1].isupper() and not PROPER.match(m.text),
    ),
    "a hint begins with a verb in the imperative": (
        ("hint", "hints"),
        lambda m: (
            bool(m.text)
            and m.words[0].rstrip(":,") not in IMPERATIVES
            and not m.words[0].startswith("X")
        ),
    ),
    "one line": (EVERY, lambda m: "\n" in m.text.strip("\n") and "/ci/" not in m.place),
}


@pytest.mark.parametrize("rule", RULES)
def test_each_message_keeps_the_rules(rule):
    wrong = failures(*RULES[rule])
    assert not wrong, f"{len(wrong)} messages break the rule: {rule}\n" + "\n".join(wrong)


def test_a_message_is_written_in_one_place():
    """The same words in two files are a function or a constant that is missing."""
    homes = defaultdict(set)
    for message in written():
        words = re.findall("[a-z]{2,}", VALUE.sub("", message.text))
        if message.role in {"message", "note"} and len(words) > 1:
            homes[re.sub("‹[^›]*›", "‹›", message.text)].add(message.home)
    assert {text: files for text, files in homes.items() if len(files) > 1} == {}
