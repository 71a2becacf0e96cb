"""`hf:` on the command line and in configurations: paths, and files that are not overwritten."""

from __future__ import annotations

import json

import pytest

from tests.conftest import HEAD

BERT = {"model_type": "bert", "num_hidden_layers": 2}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def folder(path, **files):
    path.mkdir(parents=True)
    for name, content in files.items():
        (path / name.replace("_json", ".json")).write_text(json.dumps(content))


def test_a_folder_of_another_kind_is_three_lines_and_writes_nothing(refused, here):
    folder(here / "m", model_index_json={})
    message, place, hint = refused("inspect", "hf:m", "-f", "json", "-o", "out.json")
    assert (message, place) == ("m is a pipeline of diffusers, not one model", "hf:m")
    assert hint
    assert not (here / "out.json").exists()


def test_a_configuration_has_no_positions(refused, here):
    folder(here / "m", config_json=BERT)
    assert refused("inspect", "hf:m", "--arg", "3")[1] == "--arg 3"


def test_paths_are_those_of_the_configuration_and_of_the_snapshot(asked, here):
    folder(here / "models" / "m", config_json=BERT)
    (here / "conf").mkdir()
    (here / "conf" / "a.yaml").write_text("model: hf:../models/m\n")
    assert asked("inspect", "-c", "conf/a.yaml").model.source == "hf:models/m"
    (here / "conf" / "b.yaml").write_text(
        "model: {source: hf:../models/m, args: {num_hidden_layers: 1}, weights: ../models/m}\n"
    )
    kept = asked("inspect", "hf:models/m", "-c", "conf/b.yaml").model
    assert [argument.value for argument in kept.args] == [1]
    assert kept.weights == str(here / "models" / "m")
    (here / "conf" / "c.yaml").write_text("model: torchvision:resnet18\n")
    assert asked("inspect", "-c", "conf/c.yaml").model.source == "torchvision:resnet18"


def test_the_configuration_of_a_model_is_not_overwritten(refused, here):
    folder(here / "m", config_json=BERT)
    message, _, _ = refused("inspect", "hf:m", "-f", "json", "-o", "m/config.json")
    assert "m/config.json" in message


def test_a_snapshot_names_the_folder_from_its_own(here):
    from hookcli.cli.snapshot_request import seen_from

    folder(here / "m", config_json=BERT)
    (here / "net.py").write_text(HEAD)
    assert seen_from(here / "conf", "hf:m") == "hf:../m"
    assert seen_from(here / "conf", f"hf:{here}/m") == f"hf:{here}/m"
    assert seen_from(here / "conf", "hf:ORG/m") == "hf:ORG/m"
    assert seen_from(here / "conf", "net.py:Net") == "../net.py:Net"
