"""Folders of transformers, timm and diffusers whose configurations name code: none may run."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from tests.fuzz.case import Case
from tests.fuzz.hostile import VALUES
from tests.fuzz.mutations import mutated_document
from tests.models.test_trusted_keys import HOSTILE

CANARY = b"open('CANARY', 'w').close()\n"
_BERT = {
    "model_type": "bert", "architectures": ["BertModel"], "hidden_size": 8, "vocab_size": 16,
    "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8,
    "max_position_embeddings": 16,
}  # fmt: skip
_TIMM = {"architecture": "resnet18", "num_classes": 3, "pretrained_cfg": {}}
_DIFFUSERS = {"_class_name": "UNet2DModel", "_diffusers_version": "0.30.0", "sample_size": 8}
_PIPELINE = {"_class_name": "DDPMPipeline", "unet": ["diffusers", "UNet2DModel"]}
_CODE: list[tuple[str, Any]] = [
    ("auto_map", {"AutoModel": "evil.Net", "AutoConfig": "evil.Config"}),
    ("auto_map", {"AutoModel": "other/repository--evil.Net"}), ("auto_map", {"": ["evil.Net", 3]}),
    ("custom_pipelines", {"p": {"impl": "evil.Net"}}), ("custom_pipeline", "evil"),
    ("_class_name", ["evil", "Net"]), ("unet", ["evil", "Net"]), ("architectures", ["evil.Net"]),
    ("model_type", "evil"), ("trust_remote_code", True), ("custom_generate", "evil"),
    ("architecture", "hf-hub:evil/x"), ("architecture", "local-dir:."),
    ("quantization_config", {"quant_method": "evil"}),
]  # fmt: skip


def library_folders(rng: Random) -> Case:
    """A folder with a good configuration, in which one or more keys name code."""
    name, base = rng.choice((
        ("config.json", _BERT), ("config.json", _BERT), ("config.json", _TIMM),
        ("config.json", _DIFFUSERS), ("model_index.json", _PIPELINE),
    ))  # fmt: skip
    document: Any = dict(base)
    for _ in range(rng.choice((1, 1, 2))):
        key, value = rng.choice([*HOSTILE, *_CODE])
        value = value if rng.random() < 0.9 else rng.choice(VALUES)
        inner = {key: value}
        document |= rng.choice([inner, inner, inner, {"text_config": inner}, {"layers": [inner]}])
    if rng.random() < 0.2:
        document = mutated_document(rng, document)
    data = json.dumps(document).encode("utf-8", "surrogatepass")
    files = {f"f/{name}": data, "f/evil.py": CANARY, "f/modeling_evil.py": CANARY,
             "f/configuration_evil.py": CANARY, "f/pipeline.py": CANARY, "f/__init__.py": CANARY,
             "f/json.py": CANARY, "f/pip.py": CANARY, "f/evil/__init__.py": CANARY}  # fmt: skip
    entries = ("folder", "f", ""), ("folder", "f/evil", "")
    target = rng.choice(("hf:f", "hf:f", "hf:./f", "f", f"f/{name}"))
    arguments = [rng.choice(("inspect", "inspect", "grads", "check")), target, "-f", "json"]
    if rng.random() < 0.3:
        arguments += ["--data-only"]
    return Case(tuple(arguments), files, f"f/{name}", entries=entries)
