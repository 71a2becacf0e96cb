"""What `hf:` builds of a configuration: the class, its note, and what transformers rejects.

transformers is a small object here with the names that hookcli uses.
"""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from torch import nn

from hookcli.errors import ModelError, RequestError
from hookcli.models.sources.zoo_names import ZooModel
from hookcli.models.zoo import hub, hugging_face
from hookcli.models.zoo.hugging_face import hugging_face_choice
from hookcli.spec.request import Argument, ModelSpec


class Config:
    attribute_map = {"width": "hidden_size"}

    def __init__(self, **values):
        self.__dict__.update(values)

    @classmethod
    def from_dict(cls, values):
        if values.get("hidden_size") == 0:
            raise ValueError("hidden_size must be\n positive")
        return cls(**values)

    def to_dict(self):
        return vars(self)


class Other(Config):
    pass


class Net(nn.Module):
    config_class = Config

    def __init__(self, config=None):
        super().__init__()
        self.config = config

    @classmethod
    def _from_config(cls, config):
        return cls(config)


class Base(Net):
    pass


class Auto:
    """An AutoModel; it tells how it was called."""

    @staticmethod
    def from_config(config, **options):
        return (config, options)


class Verbosity:
    level, levels = 30, []

    def get_verbosity(self):
        return self.level

    def set_verbosity_error(self):
        self.levels.append("error")

    def set_verbosity(self, level):
        self.levels.append(level)


@pytest.fixture
def transformers(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    made = SimpleNamespace(
        __version__="5.0", CONFIG_MAPPING={"net": Config, "other": Other},
        MODEL_MAPPING={Config: (Base, Net)}, AutoModel=Auto, Net=Net, Base=Base, Function=len,
        logging=Verbosity(), NoConfig=nn.Linear,
    )  # fmt: skip
    made.AutoConfig = SimpleNamespace(from_pretrained=lambda where, **options: Config(depth=1))
    made.AutoModelForX = SimpleNamespace(from_config=lambda config, **o: ("x", config, o))
    monkeypatch.setattr(hugging_face, "library", lambda name, source: made)
    return made


def choice(folder, data, *args, **more):
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(data))
    spec = ModelSpec(f"hf:{folder}", args=args, **more)
    return hugging_face_choice(ZooModel("hf", str(folder), is_folder=True), spec)


RANDOM = "built from config.json with random weights"


@pytest.mark.parametrize(
    ("data", "label", "note"),
    [
        ({"architectures": ["Net"]}, "Net", RANDOM),
        ({"architectures": ["Gone", "Net"]}, "Net", RANDOM),
        ({}, "Base", f"{RANDOM}; config.json names no architecture: built Base"),
        ({"architectures": 3}, "Base", f"{RANDOM}; config.json names no architecture: built Base"),
        (
            {"architectures": ["Gone", "no name", 3]}, "Base",
            f"{RANDOM}; transformers does not have Gone, no name: built Base",
        ),
        (
            {"architectures": ["Function", "NoConfig"]}, "Base",
            f"{RANDOM}; transformers does not have Function, NoConfig: built Base",
        ),
    ],
)  # fmt: skip
def test_the_class_is_the_first_that_transformers_has(transformers, tmp_path, data, label, note):
    found = choice(tmp_path / "m", {"model_type": "net", **data})
    assert (found.label, found.note) == (label, note)
    built = found.target()
    assert type(built).__name__ == label
    assert built.config.model_type == "net"


def test_one_base_class_need_not_be_in_a_tuple(transformers, tmp_path):
    transformers.MODEL_MAPPING = {Config: Base}
    assert choice(tmp_path / "m", {"model_type": "net"}).label == "Base"


def test_a_configuration_without_a_base_class_is_left_to_transformers(transformers, tmp_path):
    found = choice(tmp_path / "m", {"model_type": "other"}, weights="w.pt")
    assert (found.label, found.note) == ("Other", None)
    config, options = found.target()
    assert (type(config), options) == (Other, {})


def test_arguments_change_the_configuration_and_log_nothing(transformers, tmp_path):
    data = {"model_type": "net", "architectures": ["Net"], "hidden_size": 4, "part": {"depth": 1}}
    found = choice(tmp_path / "m", data, Argument("hidden_size", 8, "hidden_size=8"))
    assert found.target().config.hidden_size == 8
    assert transformers.logging.levels == ["error", 30]
    with pytest.raises(RequestError, match="unknown key 'hiden_size'") as caught:
        choice(tmp_path / "m", data, Argument("hiden_size", 8, "hiden_size=8"))
    assert "hidden_size" in caught.value.hint
    with pytest.raises(RequestError) as caught:
        choice(tmp_path / "m", data, Argument("depth", 8, "depth=8"))
    assert caught.value.hint == "write `--arg 'part={depth: VALUE}'`"
    with pytest.raises(ModelError) as error:
        choice(tmp_path / "m", data, Argument("hidden_size", 0, "hidden_size=0"))
    assert error.value.message == (
        "transformers rejects the configuration: ValueError: hidden_size must be positive"
    )


def test_an_unknown_type_suggests_the_nearest_one(transformers, tmp_path):
    with pytest.raises(RequestError) as caught:
        choice(tmp_path / "m", {"model_type": "nett"})
    assert caught.value.message == "transformers 5.0 does not know the model_type 'nett'"
    assert "`net`" in caught.value.hint
    with pytest.raises(RequestError) as caught:
        choice(tmp_path / "m", {"model_type": "quite_another"})
    assert "pip install -U transformers" in caught.value.hint


OWN = {
    "model_type": "own", "architectures": ["OwnForX"],
    "auto_map": {"AutoConfig": "c.C", "AutoModel": "m.Own", "AutoModelForX": "m.OwnForX"},
}  # fmt: skip


def test_code_of_the_folder_must_be_trusted(transformers, tmp_path):
    with pytest.raises(RequestError, match=r"refers to Python code in its folder \(auto_map\)"):
        choice(tmp_path / "m", OWN)
    known = {**OWN, "model_type": "net", "architectures": ["Net"]}
    assert choice(tmp_path / "m", known).label == "Net"  # transformers has code of its own


@pytest.mark.parametrize(
    ("data", "label", "built"),
    [
        (OWN, "OwnForX", "AutoModelForX"),
        ({**OWN, "architectures": None}, "AutoModel", "AutoModel"),
        ({**OWN, "auto_map": {"AutoConfig": "c.C"}}, "OwnForX", "AutoModel"),
        ({**OWN, "auto_map": {"AutoModelForGone": "m.OwnForX"}}, "OwnForX", "AutoModel"),
    ],
)
def test_trusted_code_is_built_by_the_class_that_auto_map_names(
    transformers, tmp_path, data, label, built
):
    width = Argument("depth", 3, "depth=3")
    found = choice(tmp_path / "m", data, width, trust=True)
    assert (found.label, found.note) == (label, RANDOM)
    *which, config, options = found.target()
    assert which == (["x"] if built == "AutoModelForX" else [])
    assert (config.depth, options) == (3, {"trust_remote_code": True})


def test_a_model_of_the_hub_is_named_as_the_user_wrote_it(transformers, tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gone"}))
    monkeypatch.setattr(hugging_face, "hub_folder", lambda model, source, trust: tmp_path)
    with pytest.raises(RequestError) as caught:
        hugging_face_choice(ZooModel("hf", "A/b"), ModelSpec("hf:A/b"))
    assert caught.value.place == "config.json of A/b"


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """The hub's cache, which has or lacks the configuration."""
    (tmp_path / "config.json").write_text(json.dumps(OWN))
    files = {"A/b": str(tmp_path / "config.json")}
    library = SimpleNamespace(
        try_to_load_from_cache=lambda name, file, revision: files.get(name, object())
    )
    monkeypatch.setattr(hub, "library", lambda name, source: library)
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.setenv(name, "")  # restored: hookcli sets it in its own process
        monkeypatch.delenv(name)
    asked = []

    def fetched(model, patterns, environment, source):
        asked.append((model.name, patterns, "HF_HUB_OFFLINE" in environment))
        return {"folder": "/cache/new"}

    monkeypatch.setattr(hub, "_fetched", fetched)
    return tmp_path, asked


def test_the_cache_is_used_and_only_what_is_missing_is_downloaded(cache, monkeypatch):
    folder, asked = cache
    known, gone = ZooModel("hf", "A/b"), ZooModel("hf", "A/c")
    assert hub.hub_folder(known, "hf:A/b", trust=False) == folder
    monkeypatch.delenv("HF_HUB_OFFLINE")
    assert hub.hub_folder(known, "hf:A/b", trust=True).as_posix() == "/cache/new"
    monkeypatch.delenv("HF_HUB_OFFLINE")
    assert hub.hub_folder(gone, "hf:A/c", trust=False).as_posix() == "/cache/new"
    assert asked == [("A/b", ["config.json", "*.py"], False), ("A/c", ["config.json"], False)]
    for name in ("c.py", "m.py"):
        (folder / name).write_text("")
    assert hub.hub_folder(known, "hf:A/b", trust=True) == folder
    with pytest.raises(RequestError, match="not in the hub's cache"):
        hub.hub_folder(gone, "hf:A/c", trust=False)  # HF_HUB_OFFLINE is set by the calls above


def test_a_damaged_configuration_of_the_cache_is_not_downloaded_for_its_code(cache):
    folder, asked = cache
    for text in ("{", "[]"):
        (folder / "config.json").write_text(text)
        assert hub.hub_folder(ZooModel("hf", "A/b"), "hf:A/b", trust=True) == folder
    assert asked == []


def test_an_answer_that_is_no_json_is_told(monkeypatch):
    def run(command, timeout, **more):
        return SimpleNamespace(stdout=answers.pop(), stderr=b"Killed\nmore")

    monkeypatch.setattr(hub, "run_python", run)
    model, answers = ZooModel("hf", "A/b"), [b"[1]", b"no json", b""]
    for _ in range(2):
        found = hub._fetched(model, ["config.json"], {}, "hf:A/b")
        assert found == {"error": ["RuntimeError"], "message": "Killed"}
    with pytest.raises(RequestError, match="the answer is not JSON"):
        hub._fetched(model, ["config.json"], {}, "hf:A/b")
