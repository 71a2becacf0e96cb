"""`list`, `explain`, `schema` and `init`: what needs no model to run."""

from __future__ import annotations

import dataclasses
import json

import jsonschema
import pytest

from hookcli.catalogue.actions import CATALOGUE as ACTIONS
from hookcli.catalogue.kinds import CATALOGUE as KINDS
from hookcli.config.load import read_config
from hookcli.config.merge import Flags, spec_of
from hookcli.formats.registry import FORMATS
from hookcli.reference.schemas import SCHEMAS
from hookcli.rules.catalogue import CATALOGUE as RULES

NAMES = {
    "hooks": list(KINDS),
    "actions": list(ACTIONS),
    "rules": list(RULES),
    "formats": list(FORMATS),
}


@pytest.mark.parametrize("what", NAMES)
def test_a_list_names_everything_in_its_catalogue_once(what, line):
    status, out, err = line("list", what)
    assert (status, err) == (0, "")
    firsts = [text.split()[0] for text in out.splitlines() if text.split()]
    assert sorted(word for word in firsts if word in NAMES[what]) == sorted(NAMES[what])


def test_a_list_and_a_page_keep_to_a_narrow_terminal(line, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    for command in (["list", "hooks"], ["list", "actions"], ["list", "rules"], ["explain", "clamp"],
                    ["explain", "rule:finite"], ["explain", "format:sarif"]):  # fmt: skip
        assert max(map(len, line(*command)[1].splitlines())) <= 60


@pytest.mark.parametrize("what", NAMES)
def test_a_list_speaks_json(what, line):
    status, out, _ = line("list", what, "-f", "json")
    rows = json.loads(out)
    assert status == 0
    assert [row["name"] for row in rows] == NAMES[what]
    assert all(row["description"] for row in rows)


def test_the_json_of_a_list_has_all_that_the_catalogue_knows(line):
    row = next(r for r in json.loads(line("list", "hooks", "-f", "json")[1])
               if r["name"] == "full_backward")  # fmt: skip
    assert row["description"] == KINDS["full_backward"].fires
    assert row["phases"] == ["backward"]
    assert row["caveats"] == list(KINDS["full_backward"].caveats)
    action = json.loads(line("list", "actions", "-f", "json")[1])[0]
    assert action["name"] == "record"
    assert action["needs_values"] is False


@pytest.mark.parametrize("family", NAMES)
def test_explain_prints_what_list_and_schema_print(family, line):
    for more in ([], ["-f", "json"]):
        assert line("explain", family, *more) == line("list", family, *more)
    for document in SCHEMAS:
        assert line("explain", f"schema:{document}") == line("schema", document)


def test_explain_without_a_word_names_every_family(line):
    status, out, err = line("explain")
    assert (status, err) == (0, "")
    assert {row.split()[0] for row in out.splitlines() if row.startswith("  ")} > {
        *NAMES, "columns", "schema:config", "rule:finite",
    }  # fmt: skip
    for document in SCHEMAS:
        assert document in out
    assert len(out.splitlines()) <= 20
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("word", [[], ["finite"]])
def test_only_a_family_is_printed_as_json(word, refused):
    message, place, _ = refused("explain", *word, "-f", "json")
    assert message == "only the names of a family can be printed as JSON"
    assert place == " ".join(["hookcli explain", *word, "-f json"])


FULL = [
    f"{family}:{name}"
    for family, table in (
        ("hook", KINDS),
        ("action", ACTIONS),
        ("rule", RULES),
        ("format", FORMATS),
    )
    for name in table
]


@pytest.mark.parametrize("name", FULL)
def test_everything_is_explained_under_its_full_name_and_its_own(name, line):
    status, out, err = line("explain", name)
    bare = name.partition(":")[2]
    assert (status, err) == (0, "")
    assert bare in out
    assert line("explain", bare) == (0, out, "")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ful_backward", "try `hookcli explain full_backward`"),
        ("hook:scale", "try `hookcli explain action:scale`"),
        ("hook:forwrad", "try `hookcli explain hook:forward`"),
        ("clmap", "try `hookcli explain clamp`"),
        ("format:sariff", "try `hookcli explain format:sarif`"),
        ("full", "try `hookcli explain full_backward_pre`"),
        ("max_params", "try `hookcli explain budget`"),  # which has the option `parameters`
        ("schema", "try `hookcli explain schema:config`"),
        ("schema:reports", "try `hookcli explain schema:report`"),
        ("rule", "try `hookcli explain rules`"),
        (
            "xyzzy",
            "run `hookcli explain` for an overview",
        ),
    ],
)
def test_what_cannot_be_explained_is_refused_with_the_near_name(name, hint, refused):
    message, place, what = refused("explain", name)
    assert message == f"unknown hook kind, action, rule, format or schema '{name}'"
    assert place == f"hookcli explain {name}"
    assert what == hint


def test_the_schemas_are_valid(line):
    for what in ("config", "report"):
        status, out, _ = line("schema", what)
        assert status == 0
        jsonschema.Draft202012Validator.check_schema(json.loads(out))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "net.py").write_text("from torch import nn\nclass Net(nn.ReLU): pass\n")
    (tmp_path / "conf").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("preset", ["inspect", "grads", "trace"])
def test_a_preset_as_yaml_asks_for_what_the_command_asks_for(preset, folder, line, asked):
    status, out, err = line("init", "net.py:Net", "--preset", preset)
    assert (status, err) == (0, "")
    (folder / "c.yaml").write_text(out)
    spec = spec_of(preset, read_config("c.yaml"), Flags())
    own = asked(preset, "net.py:Net")
    assert [(hook.kind, hook.at) for hook in spec.hooks] == [
        (hook.kind, hook.at) for hook in own.hooks
    ]
    assert spec.run == dataclasses.replace(own.run, python=None)  # the command chose one


def test_init_says_paths_as_the_file_sees_them(folder, line):
    assert line("init", "net.py:Net", "-o", "conf/c.yaml") == (0, "", "")
    model = read_config("conf/c.yaml").model
    assert model.source == str(folder / "net.py:Net")


def test_init_replaces_nothing(folder, refused):
    (folder / "c.yaml").write_text("precious")
    (folder / "link.yaml").symlink_to(folder / "nowhere")
    for name in ("c.yaml", "link.yaml"):
        assert refused("init", "net.py", "-o", name) == (
            f"{name} already exists", f"-o {name}",
            "choose another file, or remove this one first",
        )  # fmt: skip
    assert (folder / "c.yaml").read_text() == "precious"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nte.py"], "file not found: nte.py"),
        (["net.py", "-o", "conf"], "is a directory"),
        (["net.py", "-o", "no/c.yaml"], "folder not found: no"),
    ],
)
def test_init_refuses_what_it_cannot_write_or_find(arguments, message, folder, refused):
    assert message in refused("init", *arguments)[0]
