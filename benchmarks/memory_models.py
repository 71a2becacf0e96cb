"""Models whose memory is measured, most of them from transformers, in reduced sizes.

`build_model(name)` returns a model whose forward computes its own loss, and which declares a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers
from torch import nn


class WithLoss(nn.Module):
    """A module of torch whose forward also computes the loss to a target."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, inputs: tuple[torch.Tensor, ...], target: torch.Tensor) -> dict[str, Any]:
        output = self.net(*inputs)
        output = output[0] if isinstance(output, tuple) else output
        return {"loss": nn.functional.mse_loss(output, target.to(output.dtype))}


class UNet(nn.Module):
    """Two levels down, two up, with skips."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([self.block(3, 32), self.block(32, 64), self.block(64, 128)])
        self.up = nn.ModuleList(
            [nn.ConvTranspose2d(128, 64, 2, stride=2), nn.ConvTranspose2d(64, 32, 2, stride=2)]
        )
        self.mix = nn.ModuleList([self.block(128, 64), self.block(64, 32)])
        self.head = nn.Conv2d(32, 3, 1)

    @staticmethod
    def block(channels: int, out: int) -> nn.Module:
        """Two convolutions, each with a batch norm and an in-place ReLU."""
        layers: list[nn.Module] = []
        for given in (channels, out):
            layers += [
                nn.Conv2d(given, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(inplace=True),
            ]  # fmt: skip
        return nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skips = []
        for level, block in enumerate(self.down):
            x = block(nn.functional.max_pool2d(x, 2) if level else x)
            skips.append(x)
        for grow, mix, skip in zip(self.up, self.mix, reversed(skips[:-1]), strict=True):
            x = mix(torch.cat([grow(x), skip], 1))
        return self.head(x)


def _ids(*shape: int, vocabulary: int) -> torch.Tensor:
    return torch.randint(3, vocabulary, shape)


def _of(name: str, configuration: Any, **inputs: Callable[[], torch.Tensor]) -> nn.Module:
    model = getattr(transformers, name)(configuration)
    model.example_inputs = lambda: {key: make() for key, make in inputs.items()}
    return model


def _with_loss(net: nn.Module, target: tuple[int, ...], *shapes: tuple[int, ...]) -> nn.Module:
    model: Any = WithLoss(net)
    model.example_inputs = lambda: (
        tuple(torch.randn(shape) for shape in shapes),
        torch.randn(target),
    )
    return model


def _text(name: str, configuration: Any, length: int, vocabulary: int) -> nn.Module:
    def make() -> torch.Tensor:
        return _ids(2, length, vocabulary=vocabulary)

    return _of(name, configuration, input_ids=make, labels=make)


def _images(name: str, configuration: Any, size: int) -> nn.Module:
    return _of(
        name,
        configuration,
        pixel_values=lambda: torch.randn(2, 3, size, size),
        labels=lambda: torch.randint(0, 2, (2,)),
    )


def _clip() -> nn.Module:
    sizes = {"hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 2}
    configuration = transformers.CLIPConfig(
        text_config={**sizes, "num_attention_heads": 4, "vocab_size": 4000, "eos_token_id": 2},
        vision_config={**sizes, "num_attention_heads": 4, "image_size": 112, "patch_size": 16},
    )
    return _of(
        "CLIPModel",
        configuration,
        input_ids=lambda: _ids(2, 64, vocabulary=4000),
        pixel_values=lambda: torch.randn(2, 3, 112, 112),
        return_loss=lambda: True,  # type: ignore[dict-item, return-value, arg-type]
    )


_WIDE = {"hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2}
MODELS: dict[str, Callable[[], nn.Module]] = {
    "BERT": lambda: _of(
        "BertForSequenceClassification",
        transformers.BertConfig(**_WIDE, intermediate_size=1024, vocab_size=4000),
        input_ids=lambda: _ids(2, 128, vocabulary=4000),
        labels=lambda: torch.randint(0, 2, (2,)),
    ),
    "GPT-2": lambda: _text(
        "GPT2LMHeadModel",
        transformers.GPT2Config(
            n_embd=256, n_layer=2, n_head=4, vocab_size=4000, bos_token_id=1, eos_token_id=1
        ),
        128,
        4000,
    ),
    "T5": lambda: _text(
        "T5ForConditionalGeneration",
        transformers.T5Config(
            d_model=256,
            d_kv=64,
            d_ff=1024,
            num_layers=2,
            num_heads=4,
            vocab_size=4000,
            decoder_start_token_id=0,
        ),
        96,
        4000,
    ),
    "Llama": lambda: _text(
        "LlamaForCausalLM",
        transformers.LlamaConfig(**_WIDE, intermediate_size=1024, vocab_size=4000, use_cache=False),
        128,
        4000,
    ),
    "Mixtral": lambda: _text(
        "MixtralForCausalLM",
        transformers.MixtralConfig(
            hidden_size=256,
            num_attention_heads=4,
            num_key_value_heads=2,
            num_hidden_layers=2,
            intermediate_size=512,
            num_local_experts=4,
            vocab_size=4000,
            use_cache=False,
        ),
        96,
        4000,
    ),
    "ViT": lambda: _images(
        "ViTForImageClassification", transformers.ViTConfig(**_WIDE, intermediate_size=1024), 224
    ),
    "ResNet-18": lambda: _images(
        "ResNetForImageClassification",
        transformers.ResNetConfig(
            hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 2, 2], layer_type="basic"
        ),
        128,
    ),
    "ConvNeXt": lambda: _images(
        "ConvNextForImageClassification",
        transformers.ConvNextConfig(hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 2, 2]),
        128,
    ),
    "CLIP": _clip,
    "Wav2Vec2": lambda: _of(
        "Wav2Vec2ForSequenceClassification",
        transformers.Wav2Vec2Config(
            hidden_size=256,
            num_hidden_layers=3,
            num_attention_heads=4,
            intermediate_size=1024,
            mask_time_prob=0.0,
            layerdrop=0.0,
        ),
        input_values=lambda: torch.randn(2, 8000),
        labels=lambda: torch.randint(0, 2, (2,)),
    ),
    "nn.Transformer": lambda: _with_loss(
        nn.Transformer(256, 4, 2, 2, 1024, batch_first=True),
        (2, 64, 256),
        (2, 96, 256),
        (2, 64, 256),
    ),
    "nn.LSTM": lambda: _with_loss(
        nn.LSTM(128, 256, 2, batch_first=True), (2, 50, 256), (2, 50, 128)
    ),
    "U-Net": lambda: _with_loss(UNet(), (2, 3, 64, 64), (2, 3, 64, 64)),
}


def build_model(name: str) -> nn.Module:
    """Return one of the models."""
    return MODELS[name]()
