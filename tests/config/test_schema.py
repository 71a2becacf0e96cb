"""The JSON Schema and the reader are of one mind about structure."""

from __future__ import annotations

import json

import jsonschema
import pytest

from hookcli.catalogue.actions import CATALOGUE as ACTIONS
from hookcli.catalogue.kinds import CATALOGUE
from hookcli.config.schema import config_schema
from hookcli.errors import RequestError
from hookcli.spec.yaml import load_value
from tests.config.examples import STRUCTURAL, VALID

SCHEMA = config_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_it_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$id"] == "https://hookcli.dev/schema/hookcli.config-1.json"
    json.dumps(SCHEMA, allow_nan=False)


@pytest.mark.parametrize("name", VALID)
def test_a_valid_configuration_reads_and_satisfies_the_schema(name, read):
    read(VALID[name])
    VALIDATOR.validate(load_value(VALID[name]))


@pytest.mark.parametrize("name", STRUCTURAL)
def test_a_fault_of_structure_is_refused_by_both(name, read):
    with pytest.raises(RequestError):
        read(STRUCTURAL[name])
    assert not VALIDATOR.is_valid(load_value(STRUCTURAL[name]))


def test_a_file_that_says_nothing_is_refused_by_both(read):
    with pytest.raises(RequestError):
        read("{}")
    assert not VALIDATOR.is_valid({})
    assert not VALIDATOR.is_valid(None)


@pytest.mark.parametrize("kind", CATALOGUE)
def test_the_catalogue_s_example_of_a_kind_is_valid(kind, read):
    text = f"hooks: [{CATALOGUE[kind].example}]"
    (hook,) = read(text).hooks
    assert hook.kind == kind
    VALIDATOR.validate(load_value(text))


@pytest.mark.parametrize("action", ACTIONS)
def test_the_catalogue_s_example_of_an_action_is_valid(action, read):
    kind = "ddp_comm" if action == "comm" else "forward, at: fc"
    example = ACTIONS[action].example
    text = f"hooks: [{{kind: {kind}, do: {f'{{{example}}}' if ':' in example else example}}}]"
    (hook,) = read(text).hooks
    assert hook.actions[0].name == action
    VALIDATOR.validate(load_value(text))


def test_every_key_is_described():
    def described(node, where):
        for name, one in node.get("properties", {}).items():
            if one is False or where.endswith("then"):
                continue
            assert one.get("description"), f"{where}.{name}"
            described(one, f"{where}.{name}")
        for key in ("anyOf", "oneOf"):
            for i, one in enumerate(node.get(key, ())):
                described(one, f"{where}.{key}[{i}]")

    described(SCHEMA, "$")
    described(SCHEMA["properties"]["hooks"]["items"], "$.hooks")
    described(SCHEMA["$defs"]["at"], "$.at")
    assert {one["const"] for one in SCHEMA["$defs"]["kind"]["oneOf"]} == set(CATALOGUE)
