"""The YAML of configurations: the 1.2 core schema, places, and what no honest file holds."""

from __future__ import annotations

import os

import pytest

from hookcli.config.load import read_config
from hookcli.config.parse.document import DEEPEST, EXPANDED, LARGEST
from hookcli.errors import RequestError


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("true", True), ("false", False), ("True", True),
        ("yes", "yes"), ("no", "no"), ("on", "on"), ("off", "off"), ("y", "y"),
        ("1e-4", 1e-4), ("1E5", 1e5), (".5", 0.5), ("1.", 1.0), ("-.inf", float("-inf")),
        ("010", 10), ("0o10", 8), ("0x10", 16), ("1_000", "1_000"), ("0b1", "0b1"),
        ("1:30", "1:30"), ("190:20:30", "190:20:30"),
        ("2001-12-14", "2001-12-14"), ("2001-12-14 21:59:43.10", "2001-12-14 21:59:43.10"),
        ("~", None), ("null", None), ("", None), ("=", "="), ("'1'", "1"), ("!!str 1", "1"),
        (r'"\u00e9\n"', "é\n"),
    ],
)  # fmt: skip
def test_scalars_are_those_of_the_core_schema(read, written, value):
    optimizer = read(f"run:\n  optimizer:\n    limit: {written}\n").run["optimizer"]
    assert optimizer.options == {"limit": value}
    assert type(optimizer.options["limit"]) is type(value)


def test_a_duplicate_key_is_an_error_with_both_lines(problems):
    rows = problems("preset: trace\nrun: {seed: 0, seed: 1}\npreset: none\n")
    assert rows == [
        (
            "duplicate key 'seed' (first on line 2)", "hooks.yaml:2: run.seed",
            "run: {seed: 0, seed: 1}", "remove one of them",
        ),
        (
            "duplicate key 'preset' (first on line 1)", "hooks.yaml:3: preset", "preset: none",
            "remove one of them",
        ),
    ]  # fmt: skip


def test_an_alias_stands_for_its_value(read):
    hooks = read(
        "hooks:\n  - {kind: forward, at: &where [a, b], do: stats}\n"
        "  - {kind: forward_pre, at: *where}\n"
    ).hooks
    assert hooks[0].at == hooks[1].at
    assert hooks[1].place == "hooks.yaml:3: hooks[1]"


def test_a_problem_in_an_alias_names_the_path_where_it_is_used(problems):
    rows = problems("hooks:\n  - {kind: &k nope, at: a}\n  - {kind: *k, at: a}\n")
    assert [row[1] for row in rows] == [
        "hooks.yaml:2: hooks[0].kind",
        "hooks.yaml:3: hooks[1].kind",
    ]


def test_a_billion_laughs_are_refused(problem):
    lines = ["a: &a [" + "x, " * 9 + "x]"]
    for last, name in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{name}: &{name} [" + f"*{last}, " * 9 + f"*{last}]")
    message, place, _, _ = problem("\n".join(lines))
    assert message == f"the aliases expand to more than {EXPANDED} values"
    assert place.startswith("hooks.yaml:")


def test_aliases_that_stand_for_few_values_are_taken(read):
    rule = "rule: firing_order, order"
    text = f"checks:\n  - {{{rule}: &x [a, b, c]}}\n" + f"  - {{{rule}: *x}}\n" * 50
    assert len(read(text).checks) == 51


@pytest.mark.parametrize("text", ["a: &a [*a]", "&a {run: *a}", "checks: &a [{rule: *a}]"])
def test_an_alias_may_not_hold_itself(problem, text):
    message, place, _, hint = problem(text)
    assert message == "recursive alias"
    assert place.startswith("hooks.yaml:1")
    assert hint == "write the value instead of the alias"


@pytest.mark.parametrize(
    ("text", "message", "line", "hint"),
    [
        ("run:\n\tseed: 0\n", "a tab is used for indentation", 2, "indent with spaces"),
        (
            "hooks:\n  - kind: forward\n    at: *.conv1\n",
            "a string that begins with * or & must be quoted", 3,
            'write quotes, as in `at: "*.conv1"`',
        ),
        (
            "hooks:\n  - kind: forward\n    at: *\n",
            "a string that begins with * or & must be quoted", 3,
            'write quotes, as in `at: "*.conv1"`',
        ),
        (
            "at: *fc\n",
            "undefined alias: a string that begins with * must be quoted", 1,
            'write quotes, as in `at: "*.conv1"`',
        ),
        (
            "preset: none\n---\npreset: trace\n", "the file contains more than one document", 2,
            "remove the `---`: a file contains one configuration",
        ),
        (
            "run: mode: train\n", "unexpected second colon on this line", 1,
            "quote strings that contain ': ', and check the indentation",
        ),
        (
            "hooks:\n  - {kind: forward, at: layer[1-4].conv}\n",
            "an unquoted [ inside { } or [ ] begins a list", 2,
            'quote patterns with brackets, as in `at: "layer[1-4].*"`',
        ),
        (
            "hooks: [a, b\n", "a list that begins with [ is not closed", 2,
            "close it with ], or quote the string",
        ),
        ("hooks: }\n", None, 1, None),
        ("a: 'open\n", None, 2, None),
        ("run:\n  seed: 0\n mode: train\n", None, 3, None),
        ("%YAML 3.0\n---\na: 1\n", None, 1, None),
        ("a: !!python/object/apply:os.system [ls]", None, 1, "remove the tag"),
        ("a: !mine 1", "unsupported tag !mine", 1, "remove the tag"),
        ("a: !!timestamp 2001-12-14", None, 1, "remove the tag"),
        ("? [a]\n: 1\n", "a key must be a string, got a list or a mapping", 1,
         "write a string before the colon"),
        ("a: !!int abc", "invalid number", 1, "put it in quotes if it is a string"),
        ("a: " + "9" * 5000, "invalid number", 1, "put it in quotes if it is a string"),
        (r'a: "\ud800"', "the string contains half of a character (a surrogate)", 1, None),
        ("a: \x07", "the file contains a control character, U+0007", 1, None),
        ("b: 1\na: \x00", "the file contains a control character, U+0000", 2, None),
    ],
)  # fmt: skip
def test_what_is_no_yaml_is_said_with_its_line(problem, text, message, line, hint):
    said, place, _, advice = problem(text)
    assert message is None or said == message
    assert place.split(": ")[0] in (f"hooks.yaml:{line}", f"hooks.yaml:{line - 1}")
    assert hint is None or advice == hint


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "---\n", "null", "{}", "\ufeff"])
def test_a_file_that_says_nothing_is_refused(problem, text):
    assert problem(text) == (
        "the file is empty", "hooks.yaml:1", "", "run `hookcli init MODEL` to create one"
    )  # fmt: skip


@pytest.mark.parametrize("text", ["[1, 2]", "- kind: forward\n", "a text", "3"])
def test_the_top_is_a_mapping(problem, text):
    message, place, _, hint = problem(text)
    assert message.startswith(
        "the configuration must be a mapping with keys such as model and hooks"
    )
    assert place == "hooks.yaml:1"
    assert hint == "write `model: model.py:Net` on a line, and `hooks:` below it"


def test_nesting_has_an_end(problem, read):
    message, place, _, _ = problem("a: " + "[" * 100_000)
    assert message == f"the value is nested deeper than {DEEPEST} levels"
    assert place == "hooks.yaml:1"
    deep = DEEPEST - 4
    read("run: {optimizer: {x: " + "[" * deep + "]" * deep + "}}")


def test_a_large_file_is_refused_before_it_is_read(problem):
    message, _, _, _ = problem("# " + "x" * LARGEST)
    assert message == f"the file is larger than {LARGEST // 1024} KiB"


def test_utf_8_with_or_without_a_mark(read, problem):
    assert read("\ufeffpreset: none").preset == "none"
    (check,) = read("checks: [{rule: uncalled_modules, at: été}]").checks
    assert check.options == {"at": "été"}
    assert problem("preset: none".encode("utf-16"))[0] == "the file is UTF-16, not UTF-8"
    message, place, _, hint = problem(b"preset: none\n# \xe9t\xe9\n")
    assert message == "the file is not UTF-8: invalid byte 0xe9"
    assert (place, hint) == ("hooks.yaml:2", "save it as UTF-8")


def test_a_binary_file_is_refused(problem):
    message, *_ = problem(bytes(range(256)) * 10)
    assert message == "the file is not UTF-8: invalid byte 0x80"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nope.yaml", "file not found: nope.yaml"),
        (".", "cannot read .: Is a directory"),
        ("a\0b", "cannot read a\0b: embedded null byte"),
        ("x" * 300, f"cannot read {'x' * 138}…{'x' * 129}: File name too long"),
    ],
)
def test_a_file_that_cannot_be_read(folder, path, message):
    with pytest.raises(RequestError) as caught:
        read_config(path)
    assert caught.value.message == message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(folder):
    (folder / "secret.yaml").write_text("preset: none")
    (folder / "secret.yaml").chmod(0)
    with pytest.raises(RequestError) as caught:
        read_config("secret.yaml")
    assert caught.value.message == "cannot read secret.yaml: Permission denied"


def test_a_merge_key_is_an_unknown_key(problem):
    assert problem("run:\n  <<: {seed: 0}\n") == (
        "unknown key '<<'", "hooks.yaml:2: run['<<']", "<<: {seed: 0}",
        "use `extends: base.yaml`: YAML 1.2 has no merge keys",
    )  # fmt: skip


@pytest.mark.parametrize("key", ["1", "true", "null", "1.5"])
def test_keys_are_texts(problem, key):
    message, place, _, _ = problem(f"run:\n  {key}: 0\n")
    assert message.startswith("unknown key '")
    assert place.startswith("hooks.yaml:2: run[")


def test_a_name_with_escapes_stays_what_it_is(read):
    (hook,) = read(r'hooks: [{kind: forward, at: {name: "a\u202eb\x1b[31m\0"}}]').hooks
    assert hook.at.any[0].name == "a\u202eb\x1b[31m\0"


def test_a_long_line_is_shown_around_the_fault(problem):
    text = (
        "hooks: [{kind: forward, at: ["
        + ", ".join(f"layer{i}" for i in range(40))
        + "], every: 0}]"
    )
    _, _, line, _ = problem(text)
    assert len(line) <= 80
    assert line.startswith("…")
    assert line.endswith("every: 0}]")


@pytest.mark.parametrize(
    "text",
    [
        '"a\\nb": 1', "? |\n  a\n  b\n: 1", 'preset: "a\\nb"', f"{'k' * 1000}: 1",
        f"preset: {'v' * 5000}", f"run: {{{'k' * 1000}: 1}}", 'run: {mode: "a\\n\\tb"}',
    ],
)  # fmt: skip
def test_an_error_stays_on_its_lines_whatever_the_names(problem, text):
    for part in problem(text):
        assert "\n" not in part
        assert len(part) <= 300
