"""`hf:`, `timm:` and `torchvision:`: what a source names, what is refused, and what is built.

timm and torchvision are small packages here with the functions that hookcli calls. Both were also
tried for real: see docs/guides/models.md.
"""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

import pytest
import torch

from hookcli.config.load import read_config
from hookcli.config.merge import Flags, spec_of
from hookcli.engine.attempt import Session
from hookcli.errors import HookcliError, ModelError, RequestError
from hookcli.models.sources.parse import PythonModule, code_in, parse_source
from hookcli.models.sources.zoo_names import ZooModel
from hookcli.models.zoo import hub
from hookcli.spec.request import Attempt
from tests.conftest import attempt

BERT = {
    "model_type": "bert", "architectures": ["BertForMaskedLM"], "hidden_size": 16,
    "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24, "vocab_size": 60,
}  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # restored: hookcli sets it in its own process
    return tmp_path


def folder(path, **files):
    """A folder with these files; a value that is not a string is written as JSON."""
    path.mkdir(parents=True)
    for name, content in files.items():
        file = path / name.replace("__", "/").replace("_json", ".json").replace("_gguf", ".gguf")
        file.parent.mkdir(exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_the_forms_of_a_source(here):
    folder(here / "m", config_json=BERT)
    local = ZooModel("hf", "m", is_folder=True)
    assert parse_source("hf:m") == parse_source("hf:m/config.json") == local
    assert parse_source("hf:ORG/na-me_1.5@v1/x") == ZooModel("hf", "ORG/na-me_1.5", revision="v1/x")
    assert parse_source("timm:resnet18.a1_in1k") == ZooModel("timm", "resnet18.a1_in1k")
    assert parse_source("torchvision:vgg11") == ZooModel("torchvision", "vgg11")
    assert code_in("hf:m", trusted=False) is None
    assert code_in("hf:m", trusted=True) == "a Python model"
    assert code_in("hf:ORG/x", trusted=False) == "a model of the hub, which is downloaded"
    assert code_in("timm:x", trusted=False) == "a Python model"
    (here / "hf.py").write_text("")
    assert parse_source("hf:Net") == PythonModule("hf", "Net")
    assert parse_source("hf:m") == local


@pytest.mark.parametrize(
    ("files", "status", "message", "hint"),
    [
        ({}, 2, "is an empty folder", "config.json"),
        ({"readme": ""}, 2, "is not a Hugging Face model", "config.json"),
        ({"config_json": "{"}, 3, "cannot read m/config.json", "complete"),
        ({"config_json": [1]}, 2, "must be a JSON object, got list", "complete"),
        ({"config_json": {"hidden_size": 1}}, 2, "does not name a model_type", "model_type"),
        ({"config_json": {"model_type": 3}}, 2, "does not name a model_type", "model_type"),
        ({"config_json": {"_class_name": "UNet"}}, 2, "a model of diffusers (UNet)", "UNet.from_c"),
        ({"config_json": {"architecture": "vgg", "pretrained_cfg": {}}}, 2, "timm", "timm:vgg"),
        ({"model_index_json": {}, "text_encoder__config_json": BERT}, 2, "pipeline of diffusers",
         "hf:m/text_encoder"),
        ({"model_index_json": {}}, 2, "pipeline of diffusers", "Python file"),
        ({"adapter_config_json": {"base_model_name_or_path": "A/b"}}, 2, "PEFT", "`hf:A/b`"),
        ({"modules_json": [], "0_T__config_json": BERT}, 2, "sentence-transformers", "hf:m/0_T"),
        ({"x_gguf": ""}, 2, "GGUF", "original"),
        ({"a.safetensors": ""}, 2, "contains weights, but no config.json", "--weights"),
        ({"sub__config_json": BERT}, 2, "does not contain config.json", "`hf:m/sub`"),
    ],
)  # fmt: skip
def test_a_folder_that_is_no_model_says_what_it_is(here, files, status, message, hint):
    folder(here / "m", **files)
    with pytest.raises(HookcliError) as caught:
        parse_source("hf:m")
    assert caught.value.status == status
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.place == "hf:m"


BAD = ["", "./x", "/x/y", "a b", "a/b/c", "a--b", "x/../y", "~/no", "\0", "f.bin", "é/x", "a" * 300]


@pytest.mark.parametrize("name", BAD)
def test_a_name_that_nothing_can_have_is_refused(here, name):
    (here / "f.bin").write_text("")
    with pytest.raises(RequestError) as caught:
        parse_source(f"hf:{name}")
    assert "hf:FOLDER" in caught.value.hint or "path" in caught.value.hint


FAKE_TIMM = """
    from torch import nn
    def list_models(): return ["resnet18", "vit_tiny"]
    def is_model(name): return name.partition(".")[0] in list_models()
    def create_model(model_name, pretrained=False, num_classes=5, **kwargs):
        assert not pretrained
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4 * 36, num_classes))
        model.pretrained_cfg = {"input_size": (3, 8, 8)}
        return model
"""
FAKE_TORCHVISION = """
    from functools import partial
    from torch import nn
    class Transforms: pass
    class _Weights:
        def __init__(self, meta, **keywords):
            self.meta, self.transforms = meta, partial(Transforms, **keywords)
    WEIGHTS = {
        "net": [_Weights({}, crop_size=40), _Weights({}, crop_size=12, resize_size=16)],
        "clip": [_Weights({"min_temporal_size": 20}, crop_size=(6, 8))],
        "segment": [_Weights({}, resize_size=10)],
        "boxes": [],
        "flow": [_Weights({"min_size": (300, 240)})],
    }
    class Lists(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Conv2d(3, 2, 1)
        def forward(self, images): return [self.fc(image[None]) for image in images]
    class Pair(nn.Conv2d):
        def forward(self, a, b): return super().forward(a - b)
    def plain(*, weights="DEFAULT", progress=True, num_classes=5):
        assert weights is None
        return nn.Conv2d(3, num_classes, 3)
    def video(*, weights=None): return nn.Conv3d(3, 2, 3)
    def detect(*, weights=None, weights_backbone="IMAGENET"):
        assert weights_backbone is None, "it would be downloaded"
        return Lists()
    def flow(*, weights=None): return Pair(3, 2, 1)
    video.__module__ = "torchvision.models.video.clip"
    detect.__module__ = "torchvision.models.detection.boxes"
    flow.__module__ = "torchvision.models.optical_flow.flow"
    BUILDERS = {"net": plain, "segment": plain, "clip": video, "boxes": detect, "flow": flow}
    def list_models(): return list(BUILDERS)
    def get_model_builder(name): return BUILDERS[name]
    def get_model_weights(name): return WEIGHTS[name]
"""


@pytest.fixture
def library(tmp_path, monkeypatch):
    """Install a package with this source, for this test."""
    before = set(sys.modules)

    def install(name, **modules):
        place = tmp_path / "site" / name
        place.mkdir(parents=True)
        for module, source in modules.items():
            (place / f"{module}.py").write_text(textwrap.dedent(source))
        monkeypatch.syspath_prepend(place.parent)

    yield install
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in {"timm", "torchvision"}:
            del sys.modules[name]


def shapes(report):
    """The shapes of the tensors in the batch, which is one of positions."""
    return [list(leaf["shape"]) for leaf in report.inputs.args]


def test_timm_builds_by_name_with_its_own_size(library):
    library("timm", __init__=FAKE_TIMM)
    report = attempt("timm:resnet18.a1", args=("num_classes=7",), tensors="fake")
    assert shapes(report) == [[2, 3, 8, 8]]
    assert report.model.source == "timm:resnet18.a1"
    assert report.layers[-1].outputs[0].shape == (2, 7)
    assert attempt("timm:create_model", args=("vit_tiny",)).status == "complete"
    with pytest.raises(RequestError, match="unknown model of timm 'resnet81'") as caught:
        attempt("timm:resnet81")
    assert "`timm:resnet18`" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "size"),
    [("net", [[2, 3, 12, 12]]), ("segment", [[2, 3, 10, 10]]), ("clip", [[2, 3, 20, 6, 8]]),
     ("flow", [[2, 3, 300, 240], [2, 3, 300, 240]])],
)  # fmt: skip
def test_torchvision_builds_by_name_with_the_size_of_its_weights(library, name, size):
    library("torchvision", __init__="from . import models", models=FAKE_TORCHVISION)
    report = attempt(f"torchvision:{name}", tensors="fake")
    assert shapes(report) == size
    assert (report.status, report.inputs.origin) == ("complete", "declared")


def test_torchvision_detects_in_a_list_of_images_without_a_backbone(library):
    library("torchvision", __init__="from . import models", models=FAKE_TORCHVISION)
    report = attempt("torchvision:boxes", tensors="fake", batch_size=3)
    assert len(report.inputs.args[0]["list"]) == 3
    assert report.status == "complete"
    with pytest.raises(RequestError) as caught:
        attempt("torchvision:bokses")
    assert "`torchvision:boxes`" in caught.value.hint
    with pytest.raises(RequestError, match="unknown argument 'classes'"):
        attempt("torchvision:net", args=("classes=3",))


@pytest.mark.parametrize(
    "arguments",
    ["{weights: DEFAULT}", "{weights: WEIGHTS.IMAGENET1K_V1}", "{pretrained: true}", "[DEFAULT]"],
)
def test_a_configuration_cannot_make_torchvision_download_weights(library, here, arguments):
    library("torchvision", __init__="from . import models", models=FAKE_TORCHVISION)
    (here / "c.yaml").write_text(
        f"model: {{source: 'torchvision:net', args: {arguments}}}\nrun: {{tensors: fake}}\n"
    )
    spec = spec_of("inspect", read_config("c.yaml"), Flags())
    with pytest.raises(RequestError, match="must be false or null") as caught:
        Session(spec, Attempt("fake"), lambda *_: None).run()
    assert caught.value.place.startswith("c.yaml:1: ")
    assert "--trust" in caught.value.hint


def test_weights_that_a_person_types_are_torchvisions_own(library):
    library("torchvision", __init__="from . import models", models=FAKE_TORCHVISION)
    with pytest.raises(HookcliError) as caught:  # the package of this test has none
        attempt("torchvision:net", args=("weights=DEFAULT",), tensors="fake")
    assert "must be" not in caught.value.message


@pytest.mark.parametrize(
    ("source", "package"),
    [("timm:x", "timm"), ("torchvision:x", "torchvision"), ("hf:m", "transformers")],
)
def test_without_the_library_the_hint_installs_it(here, monkeypatch, source, package):
    folder(here / "m", config_json=BERT)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(RequestError) as caught:
        attempt(source)
    assert caught.value.message == (
        f"{source.partition(':')[0]}: requires {package}, which is not installed"
    )
    assert f"pip install {package}" in caught.value.hint


ANSWERS = {
    "gated": ({"error": ["GatedRepoError", "RepositoryNotFoundError"], "message": ""}, "is gated"),
    "private": ({"error": ["RepositoryNotFoundError"], "message": ""}, "neither a folder nor"),
    "revision": ({"error": ["RevisionNotFoundError"], "message": ""}, "no revision 'v9'"),
    "no network": ({"error": ["ConnectError", "OSError"], "message": "no route\nto host"},
                   "cannot be reached: no route"),
    "diffusers": ({"files": ["model_index.json"]}, "A/b is a pipeline of diffusers"),
    "gguf": ({"files": ["m.gguf", "README.md"]}, "A/b contains GGUF files"),
}  # fmt: skip


@pytest.mark.parametrize("case", ANSWERS)
def test_each_answer_of_the_hub_is_three_lines(case):
    answer, message = ANSWERS[case]
    with pytest.raises(RequestError, match=message) as caught:
        hub._answered(answer, ZooModel("hf", "A/b", revision="v9"), "hf:A/b@v9")
    assert "\n" not in caught.value.message
    assert caught.value.place == "hf:A/b@v9"


def test_the_download_ends_by_itself_and_says_why(here, monkeypatch):
    """The process that downloads, with a library that never answers, and one that fails."""
    site = here / "site" / "huggingface_hub"
    site.mkdir(parents=True)
    environment = {"PYTHONPATH": str(site.parent), "PATH": ""}
    model = ZooModel("hf", "A/b")
    (site / "__init__.py").write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(hub, "_PATIENCE", 0.5)
    late = hub._fetched(model, ["config.json"], environment, "hf:A/b")
    assert late == {"error": ["TimeoutError"], "message": "no answer within 0.5 s"}
    monkeypatch.setattr(hub, "_PATIENCE", 60.0)
    (site / "__init__.py").write_text(
        textwrap.dedent("""
        print("noise")
        class HfApi:
            def model_info(self, name, **_):
                class File: rfilename = "config.json"
                class Info: siblings = [File]
                return Info
        def snapshot_download(name, *, revision, allow_patterns, etag_timeout):
            return "/cache/" + name + "/" + ",".join(allow_patterns)
    """)
    )
    done = hub._fetched(model, ["config.json", "*.py"], environment, "hf:A/b")
    assert hub._answered(done, model, "hf:A/b") == Path("/cache/A/b/config.json,*.py")


@pytest.mark.slow
class TestTransformers:
    """With the real library; the truth is the class of transformers, built by hand."""

    @pytest.fixture(autouse=True)
    def installed(self):
        pytest.importorskip("transformers")

    def test_the_class_and_the_sizes_are_those_of_the_configuration(self, here):
        import transformers

        folder(here / "m", config_json={**BERT, "dtype": "bfloat16"})
        report = attempt(f"hf:{here}/m", tensors="fake")
        config = transformers.BertConfig(**{k: BERT[k] for k in BERT if k != "model_type"})
        truth = transformers.BertForMaskedLM(config)
        assert report.model.type == "BertForMaskedLM"
        assert report.model.parameters == sum(p.numel() for p in truth.parameters())
        assert report.model.parameter_bytes == 2 * report.model.parameters  # bfloat16
        assert "random weights" in " ".join(report.warnings)

    @pytest.mark.parametrize(
        ("config", "kind", "inputs"),
        [
            ({"model_type": "gpt2", "n_embd": 16, "n_layer": 1, "n_head": 2, "vocab_size": 50},
             "GPT2Model", {"input_ids"}),
            ({"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_model": 16,
              "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2, "vocab_size": 50},
             "T5ForConditionalGeneration", {"input_ids", "decoder_input_ids"}),
            ({"model_type": "vit", "architectures": ["ViTForImageClassification"], "image_size": 16,
              "patch_size": 8, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
              "intermediate_size": 16}, "ViTForImageClassification", set()),
            ({"model_type": "bert", "architectures": ["NoSuchBert", 3], **{k: BERT[k] for k in BERT
              if k not in ("model_type", "architectures")}}, "BertModel", {"input_ids"}),
            ({"model_type": "patchtst", "architectures": ["PatchTSTForPrediction"],
              "num_input_channels": 2, "context_length": 32, "patch_length": 8, "d_model": 16,
              "num_attention_heads": 2, "num_hidden_layers": 1, "ffn_dim": 16},
             "PatchTSTForPrediction", set()),
        ],
    )  # fmt: skip
    def test_kinds_of_models_run_with_a_batch_of_their_own(self, here, config, kind, inputs):
        folder(here / "m", config_json=config)
        report = attempt(f"hf:{here}/m", tensors="real")
        assert (report.model.type, report.status) == (kind, "complete")
        assert inputs <= set(report.inputs.kwargs)

    def test_arguments_change_keys_of_the_configuration(self, here):
        layers = {**BERT, "layer_types": ["full_attention"] * 2}
        folder(here / "m", config_json=layers)

        def blocks(*args):
            report = attempt(f"hf:{here}/m", tensors="fake", args=args)
            return sum(row.type == "BertLayer" for row in report.layers)

        assert (blocks(), blocks("num_hidden_layers=1"), blocks("num_hidden_layers=3")) == (2, 1, 3)
        with pytest.raises(RequestError, match="unknown key 'num_layer'"):
            blocks("num_layer=1")
        with pytest.raises(ModelError, match="transformers rejects the configuration"):
            blocks("num_hidden_layers=many")

    def test_weights_of_a_tied_model_are_those_that_it_saved(self, here):
        import transformers

        torch.manual_seed(1)
        config = transformers.BertConfig(**{k: BERT[k] for k in BERT if k != "model_type"})
        saved = transformers.BertForMaskedLM(config)
        saved.save_pretrained(here / "m", max_shard_size="5KB")
        assert (here / "m" / "model.safetensors.index.json").is_file()
        report = attempt(f"hf:{here}/m", weights=str(here / "m"))
        assert report.status == "complete"
        assert not any("random" in note for note in report.warnings)

    def test_an_unknown_type_and_own_code(self, here):
        folder(here / "m", config_json={"model_type": "berd"})
        with pytest.raises(RequestError, match="does not know the model_type 'berd'") as caught:
            attempt(f"hf:{here}/m")
        assert "`bert`" in caught.value.hint
        code = {"model_type": "own", "auto_map": {"AutoConfig": "c.C", "AutoModel": "m.M"}}
        folder(here / "own", config_json=code)
        (here / "own" / "c.py").write_text("open('ran', 'w')")
        with pytest.raises(RequestError, match="refers to Python code") as caught:
            attempt(f"hf:{here}/own")
        assert "--trust" in caught.value.hint
        assert not (here / "ran").exists()

    def test_a_repository_in_the_cache_is_read_without_a_network(self, here, monkeypatch):
        from huggingface_hub import constants

        cache = here / "cache"
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
        folder(cache / "models--ORG--tiny" / "snapshots" / "abc", config_json=BERT)
        folder(cache / "models--ORG--tiny" / "refs", main="abc")
        report = attempt("hf:ORG/tiny", tensors="fake")
        assert (report.model.source, report.model.type) == ("hf:ORG/tiny", "BertForMaskedLM")
        with pytest.raises(RequestError, match="not in the hub's cache"):
            attempt("hf:ORG/other")
