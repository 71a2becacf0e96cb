"""Keys of a configuration that can name code or a download: what is allowed without --trust."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from hookcli.errors import RequestError
from hookcli.models.sources.file_errors import TRUST
from hookcli.models.sources.zoo_names import ZooModel
from hookcli.models.zoo import vision_models
from hookcli.models.zoo.hugging_face import hugging_face_choice
from hookcli.models.zoo.trusted_keys import (
    DROPPED,
    KEY_RULES,
    RULES_IN_ARGUMENTS,
    check_trusted,
    without_references,
)
from hookcli.spec.request import Argument, ModelSpec
from tests.conftest import ROOT, run_cli

FAKE_TIMM = {"is_model": lambda _name: True, "create_model": lambda _name, **_arguments: None}
KERNEL = "evil/x@main:f"
HOSTILE = [
    *((key, KERNEL) for key in (
        "attn_implementation", "_attn_implementation", "_attn_implementation_internal",
        "experts_implementation", "_experts_implementation", "_experts_implementation_internal",
        "new_implementation", "step_kernel", "chunkwise_kernel", "use_kernels", "kernel_config",
        "dtype", "torch_dtype", "router_dtype", "mamba_ssm_cache_dtype", "backbone", "architecture",
        "checkpoint_path", "pretrained_cfg_overlay", "custom_generate", "gguf_file",
        "code_revision", "trust_remote_code", "quant_method",
    )),
    ("attn_implementation", "flash_attn_evil"), ("attn_implementation", "paged|evil/x"),
    ("attn_implementation", {"": "sdpa", "text_config": KERNEL}),
    ("attn_implementation", {"text_config": {"": KERNEL}}), ("attn_implementation", ["evil/x"]),
    ("attn_implementation", "eager\n"), ("attn_implementation", 3),
    ("experts_implementation", "deepgemm"), ("experts_implementation", "sonicmoe"),
    ("use_kernels", True), ("kernel_config", {"kernel_mapping": {"RMSNorm": "evil/x:L"}}),
    ("dtype", "hub"), ("dtype", "load"), ("dtype", "ops.x"), ("dtype", {"": "hub"}),
    ("backbone", "hf-hub:evil/x"), ("backbone", "hf_hub:evil/x"), ("backbone", "local-dir:/x"),
    ("backbone", "microsoft/resnet-50"), ("architecture", "hf-hub:evil/x"),
    ("trust_remote_code", True), ("trust_remote_code", 1),
    *(("model_args", {key: "x"}) for key in (
        "pretrained", "pretrained_cfg", "checkpoint_path", "cache_dir", "hf_hub_id", "url", "file",
    )),
    ("backbone_kwargs", {"pretrained_cfg": {"file": "x.pth"}}),
    ("backbone_kwargs", {"nested": {"pretrained": True}}),
]  # fmt: skip


@pytest.mark.parametrize("place", ["", "text_config", "list"])
@pytest.mark.parametrize(("key", "value"), HOSTILE, ids=str)
def test_a_value_that_is_not_in_the_table_is_refused(key, value, place):
    values = {key: value}
    values = {"": values, "text_config": {"text_config": values}, "list": {"layers": [values]}}[
        place
    ]
    with pytest.raises(RequestError) as caught:
        check_trusted(values, (), "m/config.json")
    assert key in caught.value.message
    assert (caught.value.place, caught.value.hint) == ("m/config.json", TRUST)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("key", [rule.shown for rule in RULES_IN_ARGUMENTS])
def test_each_rule_has_a_hostile_value(key):
    rule = next(rule for rule in RULES_IN_ARGUMENTS if rule.shown == key)
    inner = [name for _, value in HOSTILE if isinstance(value, dict) for name in value]
    assert any(rule.keys.fullmatch(name) for name in [*dict(HOSTILE), *inner])


HEALTHY = [
    *({"attn_implementation": name} for name in (
        None, "eager", "sdpa", "flex_attention", "flash_attention_2", "flash_attention_3",
        "paged|eager", {"": "sdpa", "vision_config": "eager"}, {"text_config": None},
    )),
    {"_attn_implementation_autoset": True}, {"experts_implementation": "grouped_mm"},
    *({"torch_dtype": name} for name in ("float32", "bfloat16", "auto", "torch.float16", None,
      "float8_e4m3fn", {"": "bfloat16", "vision_config": "float32"})),
    {"backbone": "resnet50.a1_in1k"}, {"backbone": None, "backbone_config": {"model_type": "swin"}},
    {"architecture": "vit_pe_core_large_patch14_336", "model_args": {"embed_dim": 8}},
    {"use_kernels": False}, {"trust_remote_code": False}, {"conv_kernel": [3, 3], "kernel": 4},
    {"quantization_config": {"quant_method": "compressed-tensors", "bits": 4}},
    {"chunkwise_kernel": "chunkwise--native_autograd"}, {"id2label": {"0": "a/b@c:d"}},
    {"model_args": {"pretrained": False, "pretrained_window_sizes": [8, 8]}},
    {"pretrained_cfg": {"url": "https://x", "file": "y"}},
]  # fmt: skip


@pytest.mark.parametrize("values", HEALTHY, ids=str)
def test_what_healthy_configurations_contain_is_allowed(values):
    check_trusted(values, (), "m/config.json")
    check_trusted({"text_config": values, "parts": [values]}, (), "m/config.json")


def test_references_are_dropped_at_any_depth():
    named = dict.fromkeys(DROPPED, "evil/x--m.Net")
    values = {"a": 1, **named, "text_config": {**named, "b": [{**named, "c": 2}]}}
    assert without_references(values) == {"a": 1, "text_config": {"b": [{"c": 2}]}}
    assert without_references({"use_pretrained_backbone": True}) == {
        "use_pretrained_backbone": False
    }


TIMM = {
    "pretrained": "hf", "checkpoint_path": "x.pth", "pretrained_cfg": {"file": "x.pth"},
    "pretrained_cfg_overlay": {"url": "https://x"}, "cache_dir": "x", "backbone_kwargs":
    {"pretrained": True},
}  # fmt: skip


@pytest.mark.parametrize("key", TIMM)
@pytest.mark.parametrize("origin", ["", "hooks.yaml:3: model.args"])
def test_arguments_of_timm_are_those_of_the_table(monkeypatch, key, origin):
    monkeypatch.setattr(vision_models, "library", lambda *_: SimpleNamespace(**FAKE_TIMM))
    args = (Argument(key, TIMM[key], "text", origin), Argument("num_classes", 3, "num_classes=3"))
    with pytest.raises(RequestError, match=key) as caught:
        vision_models.timm_choice("net", args, "timm:net")
    assert (caught.value.place, caught.value.hint) == (args[0].place, TRUST)
    assert vision_models.timm_choice("net", args, "timm:net", trust=True).args == args
    assert vision_models.timm_choice("net", args[1:], "timm:net").args == args[1:]


def test_only_a_person_may_have_timm_download_its_weights(monkeypatch):
    monkeypatch.setattr(vision_models, "library", lambda *_: SimpleNamespace(**FAKE_TIMM))
    typed = (Argument("pretrained", True, "pretrained=true"),)
    assert vision_models.timm_choice("net", typed, "timm:net").args == typed
    given = (Argument("pretrained", True, "", "hooks.yaml:3: model.args.pretrained"),)
    with pytest.raises(RequestError, match="'pretrained' must be false or null, got True"):
        vision_models.timm_choice("net", given, "timm:net")


def test_a_value_of_a_flag_is_told_at_the_flag():
    args = (Argument("text_config", {"dtype": "hub"}, "--arg text_config={dtype: hub}"),)
    with pytest.raises(RequestError, match=r"'text_config.dtype' must be a dtype") as caught:
        check_trusted({"text_config": {"dtype": "hub"}}, args, "m/config.json")
    assert caught.value.place == args[0].place


@pytest.fixture
def transformers(monkeypatch):
    """The library, of which what loads code or downloads ends the test."""
    made = pytest.importorskip("transformers")
    from transformers.integrations import hub_kernels
    from transformers.utils import hub

    def refuse(*_, **__):
        pytest.fail("code or a file was looked up")

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for owner, name in (
        (hub_kernels, "get_kernel"), (hub_kernels, "load_and_register_attn_kernel"),
        (made.dynamic_module_utils, "get_class_from_dynamic_module"),
        (made.models.auto.auto_factory, "get_class_from_dynamic_module"),
        (hub, "hf_hub_download"), (hub, "cached_files"),
    ):  # fmt: skip
        monkeypatch.setattr(owner, name, refuse)
    return made


TINY = {"model_type": "llama", "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1,
        "num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": 16}  # fmt: skip


def _choice(folder, values, **more):
    (folder / "config.json").write_text(json.dumps({**TINY, **values}))
    model = ZooModel("hf", folder.as_posix(), is_folder=True)
    return hugging_face_choice(model, ModelSpec(f"hf:{folder}", **more))


def test_the_command_refuses_a_kernel_of_the_hub(tmp_path):
    pytest.importorskip("transformers")
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({**TINY, "_attn_implementation": KERNEL}))
    done = run_cli("inspect", "hf:m", cwd=tmp_path, HF_HUB_OFFLINE="1")
    assert (done.status, done.out) == (2, "")
    message, place, hint = done.error()
    assert message.startswith("'_attn_implementation' must be eager, sdpa, ")
    assert message.endswith(f"got '{KERNEL}'")
    assert (place, hint) == ("m/config.json", TRUST)
    assert len(done.err.splitlines()) == 3


def test_transformers_is_not_asked_for_code(transformers, tmp_path):
    for key, value in HOSTILE:
        with pytest.raises(RequestError):
            _choice(tmp_path, {key: value})
    dropped = dict.fromkeys(("custom_pipelines", "_name_or_path", "_commit_hash"), "evil/x")
    found = _choice(tmp_path, {**dropped, "auto_map": {"AutoModel": "evil/x--m.Net"}}).target()
    assert type(found).__name__ == "LlamaModel"
    assert not hasattr(found.config, "auto_map")


def test_defaults_of_transformers_are_allowed(transformers):
    for name in [*transformers.CONFIG_MAPPING][::40]:
        check_trusted(transformers.CONFIG_MAPPING[name]().to_dict(), (), name)


def test_the_page_has_every_key():
    page = " ".join((ROOT / "docs" / "trust.md").read_text().split())
    for rule in RULES_IN_ARGUMENTS:
        assert f"| {rule.shown} | {rule.allowed} |" in page
    assert all(f"`{key}`" in page for key in DROPPED)
    assert KEY_RULES == RULES_IN_ARGUMENTS[1:]
