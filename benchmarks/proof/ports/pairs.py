"""Pairs of implementations of one architecture: a name, the two models, and their batch."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from benchmarks.proof.ports import own_ports as own
from benchmarks.proof.ports.without_torchvision import installed


@dataclass(frozen=True)
class PortPair:
    """Two models and a batch for both. `needs` are packages that must be installed."""

    name: str
    a: Callable[[], nn.Module]
    b: Callable[[], nn.Module]
    batch: Callable[[], torch.Tensor]
    needs: tuple[str, ...] = ("transformers",)

    @property
    def is_there(self) -> bool:
        """Whether the packages are installed."""
        return all(importlib.util.find_spec(name) for name in self.needs)


def ids():
    """A batch of 3 sequences of 9 tokens."""
    return torch.randint(0, 97, (3, 9), generator=torch.Generator().manual_seed(1))


def images(size=32):
    """A batch of 2 images."""
    return lambda: torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(1))


def hf(model, **settings):
    """Return the builder of a model of transformers."""

    def build():
        import transformers

        kind = getattr(transformers, model)
        return kind(kind.config_class(**settings))

    return build


def timm_module(name):
    """Import a module of timm's models."""
    with installed():
        return importlib.import_module(f"timm.models.{name}")


def timm(module, name, **settings):
    """Return the builder of a model of timm."""
    return lambda: getattr(timm_module(module), name)(**settings)


GPT2 = {
    "n_layer": 3,
    "n_head": 4,
    "n_embd": 48,
    "vocab_size": 97,
    "n_positions": 32,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
LLAMA = {
    "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 97, "max_position_embeddings": 32, "rms_norm_eps": 1e-6,
    "bos_token_id": 0, "eos_token_id": 0, "tie_word_embeddings": False,
}  # fmt: skip
BERT = {
    "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 80,
    "vocab_size": 97, "max_position_embeddings": 32,
}  # fmt: skip
VIT = {
    "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 96,
    "image_size": 32, "patch_size": 8, "num_labels": 7,
}  # fmt: skip
TIMM_VIT = {
    "img_size": 32, "patch_size": 8, "embed_dim": 48, "depth": 3, "num_heads": 4,
    "mlp_ratio": 2, "num_classes": 7,
}  # fmt: skip
_TIMM = ("transformers", "timm")


def group_norm(channels, **kwargs):
    """Return the norm of PoolFormer."""
    return nn.GroupNorm(1, channels)


def vit(attention):
    """Return the builder of the own ViT."""
    return lambda: own.Vit(32, 8, 48, 3, 4, 96, 7, attention=attention)


def llama(**settings):
    """Return the builder of the own Llama."""
    return lambda: own.Llama(97, 48, 3, 4, 2, 80, **settings)


def gpt(**settings):
    """Return the builder of the own GPT-2."""
    return lambda: own.Gpt(97, 32, 48, 3, 4, **settings)


def bert(attention):
    """Return the builder of the own BERT."""
    return lambda: own.Bert(97, 32, 48, 3, 4, 80, attention=attention)


def encoder():
    """Return BERT's layers by torch.nn.TransformerEncoder, whose attention is fused."""

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.tok, self.pos, self.seg = (
                nn.Embedding(97, 48),
                nn.Embedding(32, 48),
                nn.Embedding(2, 48),
            )
            self.ln = nn.LayerNorm(48, eps=1e-12)
            layer = nn.TransformerEncoderLayer(
                48, 4, 80, 0.0, "gelu", layer_norm_eps=1e-12, batch_first=True
            )
            self.body = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)

        def forward(self, ids):
            x = self.tok(ids) + self.seg(torch.zeros_like(ids))
            return self.body(self.ln(x + self.pos(torch.arange(ids.shape[1]))))

    return Encoder()


PAIRS = (
    PortPair("gpt2, split", hf("GPT2LMHeadModel", **GPT2), gpt(), ids),
    PortPair("gpt2, fused", hf("GPT2LMHeadModel", **GPT2), gpt(attention=own.FusedAttention), ids),
    PortPair(
        "gpt2, functional", hf("GPT2LMHeadModel", **GPT2),
        gpt(attention=own.FusedAttention, act=own.tanh_gelu), ids,
    ),
    PortPair("gpt2, from the port", gpt(), hf("GPT2LMHeadModel", **GPT2), ids),
    PortPair("gpt2, split to fused", gpt(), gpt(attention=own.FusedAttention), ids),
    PortPair("llama, fused", hf("LlamaForCausalLM", **LLAMA), llama(), ids),
    PortPair(
        "mistral, fused", hf("MistralForCausalLM", **LLAMA, sliding_window=None), llama(), ids
    ),
    PortPair("qwen2, fused", hf("Qwen2ForCausalLM", **LLAMA), llama(bias=True), ids),
    PortPair("llama, from the port", llama(), hf("LlamaForCausalLM", **LLAMA), ids),
    PortPair("llama to phi3", llama(), hf("Phi3ForCausalLM", **LLAMA, pad_token_id=0), ids),
    PortPair(
        "llama to phi3, transformers", hf("LlamaForCausalLM", **LLAMA),
        hf("Phi3ForCausalLM", **LLAMA, pad_token_id=0), ids,
    ),
    PortPair("bert, fused", hf("BertModel", **BERT), bert(own.FusedAttention), ids),
    PortPair("bert, split", hf("BertModel", **BERT), bert(own.SplitAttention), ids),
    PortPair("bert, torch.nn", hf("BertModel", **BERT), encoder, ids),
    PortPair("bert, from the port", bert(own.FusedAttention), hf("BertModel", **BERT), ids),
    PortPair(
        "vit, fused", hf("ViTForImageClassification", **VIT), vit(own.FusedAttention), images()
    ),
    PortPair(
        "vit, split", hf("ViTForImageClassification", **VIT), vit(own.SplitAttention), images()
    ),
    PortPair(
        "vit, timm", hf("ViTForImageClassification", **VIT, layer_norm_eps=1e-6),
        timm("vision_transformer", "VisionTransformer", **TIMM_VIT), images(), _TIMM,
    ),
    PortPair(
        "timm to own vit", timm("vision_transformer", "VisionTransformer", **TIMM_VIT),
        lambda: own.Vit(32, 8, 48, 3, 4, 96, 7, attention=own.SplitAttention, eps=1e-6), images(),
        ("timm",),
    ),
    PortPair(
        "deit, timm", hf("DeiTForImageClassificationWithTeacher", **VIT, layer_norm_eps=1e-6),
        timm("deit", "VisionTransformerDistilled", **TIMM_VIT), images(), _TIMM,
    ),
    PortPair(
        "dinov2, timm",
        hf("Dinov2Model", hidden_size=48, num_hidden_layers=3, num_attention_heads=4, mlp_ratio=2,
           image_size=32, patch_size=8),
        timm("vision_transformer", "VisionTransformer", **{**TIMM_VIT, "num_classes": 0},
             init_values=1e-5, global_pool="token"), images(), _TIMM,
    ),
    PortPair(
        "beit, timm",
        hf("BeitForImageClassification", **VIT, use_relative_position_bias=True,
           use_mean_pooling=True, layer_norm_eps=1e-6),
        timm("beit", "Beit", **TIMM_VIT, use_abs_pos_emb=False, use_rel_pos_bias=True,
             init_values=0.1), images(), _TIMM,
    ),
    PortPair(
        "convnext, timm",
        hf("ConvNextForImageClassification", hidden_sizes=[8, 16, 24, 32], depths=[1, 2, 1, 1],
           num_labels=7, layer_scale_init_value=0.3, layer_norm_eps=1e-6),
        timm("convnext", "ConvNeXt", num_classes=7, depths=(1, 2, 1, 1), dims=(8, 16, 24, 32),
             ls_init_value=0.3), images(64), _TIMM,
    ),
    PortPair(
        "convnextv2, timm",
        hf("ConvNextV2ForImageClassification", hidden_sizes=[8, 16, 24, 32], depths=[1, 2, 1, 1],
           num_labels=7, layer_norm_eps=1e-6),
        timm("convnext", "ConvNeXt", num_classes=7, depths=(1, 2, 1, 1), dims=(8, 16, 24, 32),
             use_grn=True, ls_init_value=None), images(64), _TIMM,
    ),
    PortPair(
        "resnet, own",
        hf("ResNetForImageClassification", embedding_size=16, hidden_sizes=[16, 24], depths=[2, 2],
           num_labels=7, layer_type="basic"),
        lambda: own.ResNet((16, 24), (2, 2), 7), images(64),
    ),
    PortPair(
        "resnet, timm",
        hf("ResNetForImageClassification", embedding_size=64, depths=[2, 2, 2, 2],
           hidden_sizes=[16, 24, 32, 48], num_labels=7, layer_type="basic"),
        lambda: timm_module("resnet").ResNet(
            timm_module("resnet").BasicBlock, [2, 2, 2, 2], num_classes=7,
            channels=(16, 24, 32, 48)
        ), images(64), _TIMM,
    ),
    PortPair(
        "resnet bottleneck, timm",
        hf("ResNetForImageClassification", depths=[1, 2, 1, 1], num_labels=7,
           hidden_sizes=[64, 96, 128, 160]),
        lambda: timm_module("resnet").ResNet(
            timm_module("resnet").Bottleneck, [1, 2, 1, 1], num_classes=7,
            channels=(16, 24, 32, 40)
        ), images(64), _TIMM,
    ),
    PortPair(
        "swin, timm",
        hf("SwinForImageClassification", image_size=64, patch_size=4, embed_dim=16, depths=[2, 2],
           num_heads=[2, 4], window_size=4, num_labels=7),
        timm("swin_transformer", "SwinTransformer", img_size=64, patch_size=4, embed_dim=16,
             depths=(2, 2), num_heads=(2, 4), window_size=4, num_classes=7), images(64), _TIMM,
    ),
    PortPair(
        "swinv2, timm",
        hf("Swinv2ForImageClassification", image_size=64, patch_size=4, embed_dim=16,
           depths=[2, 2], num_heads=[2, 4], window_size=4, num_labels=7),
        timm("swin_transformer_v2", "SwinTransformerV2", img_size=64, patch_size=4, embed_dim=16,
             depths=(2, 2), num_heads=(2, 4), window_size=4, num_classes=7), images(64), _TIMM,
    ),
    PortPair(
        "poolformer, timm",
        hf("PoolFormerForImageClassification", hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1],
           num_labels=7),
        timm("metaformer", "MetaFormer", depths=(1, 1, 1, 1), dims=(8, 16, 24, 32), num_classes=7,
             downsample_norm=None, mlp_act=nn.GELU, mlp_bias=True, use_mlp_head=False,
             layer_scale_init_values=1e-5, res_scale_init_values=None,
             norm_layers=group_norm), images(64), _TIMM,
    ),
    PortPair(
        "pvt_v2, timm",
        hf("PvtV2ForImageClassification", image_size=64, hidden_sizes=[8, 16, 24, 32],
           depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 3, 4], mlp_ratios=[2, 2, 2, 2],
           num_labels=7, layer_norm_eps=1e-5),
        timm("pvt_v2", "PyramidVisionTransformerV2", num_classes=7, depths=(1, 1, 1, 1),
             embed_dims=(8, 16, 24, 32), num_heads=(1, 2, 3, 4), mlp_ratios=(2, 2, 2, 2),
             sr_ratios=(8, 4, 2, 1)), images(64), _TIMM,
    ),
    PortPair(
        "mobilenetv2, timm",
        hf("MobileNetV2ForImageClassification", image_size=64, num_labels=7, tf_padding=False,
           layer_norm_eps=1e-5, hidden_act="relu6"),
        lambda: timm_module("efficientnet").mobilenetv2_100(num_classes=7),
        images(64), _TIMM,
    ),
    PortPair(
        "focalnet, timm",
        hf("FocalNetForImageClassification", image_size=64, embed_dim=16, depths=[1, 1, 1, 1],
           num_labels=7),
        timm("focalnet", "FocalNet", num_classes=7, embed_dim=16, depths=(1, 1, 1, 1),
             focal_levels=(2, 2, 2, 2), focal_windows=(3, 3, 3, 3)), images(64), _TIMM,
    ),
    PortPair(
        "levit, timm",
        hf("LevitForImageClassification", image_size=64, num_labels=7),
        lambda: timm_module("levit").Levit(
            img_size=64, num_classes=7, embed_dim=(128, 256, 384), depth=(4, 4, 4),
            num_heads=(4, 8, 12),
            key_dim=16,
        ), images(64), _TIMM,
    ),
    PortPair(
        "siglip vision, timm",
        hf("SiglipVisionModel", hidden_size=48, num_hidden_layers=3, num_attention_heads=4,
           intermediate_size=96, image_size=32, patch_size=8),
        timm("vision_transformer", "VisionTransformer", **{**TIMM_VIT, "num_classes": 0},
             class_token=False, global_pool="map", act_layer="gelu_tanh"), images(), _TIMM,
    ),
)  # fmt: skip
