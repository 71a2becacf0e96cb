"""Pairs of public implementations that were not used while the matching was written.

Each needs packages that are installed without their own requirements (`pip install --no-deps`).
"""

from __future__ import annotations

import importlib
import pkgutil

import torch
from torch import nn

from benchmarks.proof.ports.pairs import PortPair, hf, images
from benchmarks.proof.ports.without_torchvision import installed


def made(path, *args, **settings):
    """Return the builder of what a function or class of a package makes."""

    def build():
        with installed():
            return pkgutil.resolve_name(path)(*args, **settings)

    return build


def with_config(module, model, config, *args, **settings):
    """Return the builder of a model of a module that takes a configuration."""
    return lambda: made(f"{module}.{model}", made(f"{module}.{config}", *args, **settings)())()


def one_image(size):
    """A batch of one image."""
    return lambda: torch.randn(1, 3, size, size, generator=torch.Generator().manual_seed(5))


def tokens():
    """A batch of 2 sequences of 12 tokens."""
    return torch.randint(3, 60, (2, 12), generator=torch.Generator().manual_seed(5))


def steps():
    """A batch of 2 sequences of 7 vectors."""
    return torch.randn(2, 7, 16, generator=torch.Generator().manual_seed(3))


class CellLoop(nn.Module):
    """Two layers of cells, called for each step."""

    def __init__(self, cell):
        super().__init__()
        self.cells = nn.ModuleList((cell(16, 24), cell(24, 24)))

    def forward(self, x):
        for cell in self.cells:
            state, found = None, []
            for i in range(x.shape[1]):
                state = cell(x[:, i], state)
                found.append(state[0] if isinstance(state, tuple) else state)
            x = torch.stack(found, 1)
        return x


class Recurrent(nn.Module):
    """A recurrent layer, or a loop of cells, as the only module."""

    def __init__(self, rnn):
        super().__init__()
        self.rnn = rnn

    def forward(self, x):
        found = self.rnn(x)
        return found[0] if isinstance(found, tuple) else found


def gpt_of_litgpt(name, **settings):
    """Return the builder of a small model of litgpt."""

    def build():
        package = importlib.import_module("litgpt")
        sizes = {"n_layer": 2, "n_embd": 64, "n_head": 4, "padded_vocab_size": 70}
        sizes |= {"intermediate_size": 128, "head_size": 16, "block_size": 32, **settings}
        return package.GPT(package.Config.from_name(name, **sizes))

    return build


SMALL = {
    "vocab_size": 70, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 128,
}  # fmt: skip
GPT = {"n_positions": 32, "n_embd": 64, "n_layer": 2, "n_head": 4}
DECODER = {**SMALL, "max_position_embeddings": 32, "tie_word_embeddings": False}
GROUPED = {**DECODER, "num_key_value_heads": 2}
TUNED = {
    "vocab_size": 70, "num_layers": 2, "num_heads": 4, "embed_dim": 64, "intermediate_dim": 128,
    "max_seq_len": 32,
}  # fmt: skip
_CV, _OLD = ("pytorchcv", "timm"), ("transformers", "pytorch_pretrained_bert")
_FEWER, _LIT = ("transformers", "pytorch_transformers"), ("transformers", "litgpt")


def base(theta):
    """Return the rotary settings of a configuration."""
    return {"rope_parameters": {"rope_theta": theta, "rope_type": "default"}}


def pytorchcv(name, other, size=224):
    """Return a pair of pytorchcv and timm."""
    return PortPair(
        f"{name}, pytorchcv to timm",
        made("pytorchcv.model_provider.get_model", name, in_size=(size, size)),
        made("timm.create_model", other), one_image(size), _CV,
    )  # fmt: skip


BLIND = (
    pytorchcv("resnet18", "resnet18"),
    pytorchcv("densenet121", "densenet121"),
    pytorchcv("seresnet50", "seresnet50"),
    pytorchcv("mobilenetv3_large_w1", "mobilenetv3_large_100"),
    pytorchcv("regnetx002", "regnetx_002"),
    pytorchcv("dla34", "dla34"),
    pytorchcv("ghostnet", "ghostnet_100"),
    pytorchcv("hrnet_w18_small_v1", "hrnet_w18_small"),
    pytorchcv("selecsls42b", "selecsls42b"),
    PortPair("densenet, monai to timm", made("monai.networks.nets.DenseNet121", spatial_dims=2,
             in_channels=3, out_channels=1000), made("timm.create_model", "densenet121"),
             images(64), ("monai", "timm")),
    PortPair("efficientnet, efficientnet_pytorch to timm",
             made("efficientnet_pytorch.EfficientNet.from_name", "efficientnet-b0", image_size=64),
             made("timm.create_model", "tf_efficientnet_b0"), images(64),
             ("efficientnet_pytorch", "timm")),
    PortPair("efficientnet, transformers to geffnet",
             hf("EfficientNetForImageClassification", image_size=64, width_coefficient=1.0,
                depth_coefficient=1.0, hidden_dim=1280, num_labels=1000, dropout_rate=0.2),
             made("geffnet.tf_efficientnet_b0"), images(64), ("transformers", "geffnet")),
    PortPair("mobilenetv3, geffnet to timm", made("geffnet.mobilenetv3_large_100"),
             made("timm.create_model", "mobilenetv3_large_100"), images(64), ("geffnet", "timm")),
    PortPair("dpn68, pretrainedmodels to timm", made("pretrainedmodels.dpn68", pretrained=None),
             made("timm.create_model", "dpn68"), one_image(224), ("pretrainedmodels", "timm")),
    PortPair("regnety, transformers to timm",
             hf("RegNetForImageClassification", embedding_size=32,
                hidden_sizes=[24, 56, 152, 368], depths=[1, 1, 4, 7], groups_width=8,
                layer_type="y", num_labels=1000),
             made("timm.create_model", "regnety_002"), images(64), ("transformers", "timm")),
    PortPair("mobilevitv2, transformers to timm",
             hf("MobileViTV2ForImageClassification", image_size=64, width_multiplier=0.5,
                num_labels=1000),
             made("timm.create_model", "mobilevitv2_050"), images(64), ("transformers", "timm")),
    PortPair("swiftformer, transformers to timm",
             hf("SwiftFormerForImageClassification", depths=[1, 1, 2, 1],
                embed_dims=[24, 32, 48, 64], num_labels=10),
             made("timm.models.swiftformer.SwiftFormer", layers=[1, 1, 2, 1],
                  embed_dims=[24, 32, 48, 64], num_classes=10),
             one_image(224), ("transformers", "timm")),
    PortPair("hiera, transformers to timm",
             hf("HieraForImageClassification", embed_dim=24, image_size=[64, 64],
                depths=[1, 1, 2, 1], num_heads=[1, 2, 4, 8], num_labels=10),
             made("timm.models.hiera.Hiera", img_size=(64, 64), embed_dim=24,
                  stages=(1, 1, 2, 1), num_classes=10), images(64), ("transformers", "timm")),
    PortPair("bert, pytorch_pretrained_bert to transformers",
             with_config("pytorch_pretrained_bert.modeling", "BertModel", "BertConfig",
                         *SMALL.values()), hf("BertModel", **SMALL), tokens, _OLD),
    PortPair("openai gpt, pytorch_pretrained_bert to transformers",
             with_config("pytorch_pretrained_bert.modeling_openai", "OpenAIGPTLMHeadModel",
                         "OpenAIGPTConfig", 70, n_special=0, n_ctx=32, **GPT),
             hf("OpenAIGPTLMHeadModel", vocab_size=70, **GPT), tokens, _OLD),
    PortPair("gpt2, pytorch_transformers to transformers",
             with_config("pytorch_transformers.modeling_gpt2", "GPT2LMHeadModel", "GPT2Config",
                         70, n_ctx=32, **GPT),
             hf("GPT2LMHeadModel", vocab_size=70, **GPT), tokens, _FEWER),
    PortPair("llama, litgpt to transformers", gpt_of_litgpt("Llama-3-8B", n_query_groups=2),
             hf("LlamaForCausalLM", rms_norm_eps=1e-5, **GROUPED, **base(5e5)), tokens, _LIT),
    PortPair("pythia, litgpt to transformers", gpt_of_litgpt("pythia-14m"),
             hf("GPTNeoXForCausalLM", **DECODER), tokens, _LIT),
    PortPair("phi, litgpt to transformers", gpt_of_litgpt("phi-2", rotary_percentage=0.5),
             hf("PhiForCausalLM", hidden_act="gelu_new", **DECODER), tokens, _LIT),
    PortPair("gemma2, litgpt to transformers",
             gpt_of_litgpt("Gemma-2-2b", n_query_groups=2, attention_scores_scalar=16),
             hf("Gemma2ForCausalLM", head_dim=16, query_pre_attn_scalar=16, **GROUPED),
             tokens, _LIT),
    PortPair("qwen3, litgpt to transformers", gpt_of_litgpt("Qwen3-0.6B", n_query_groups=2),
             hf("Qwen3ForCausalLM", head_dim=16, **GROUPED, **base(1e6)), tokens, _LIT),
    PortPair("qwen2, torchtune to transformers",
             made("torchtune.models.qwen2.qwen2", num_kv_heads=2, rope_base=1e6, **TUNED),
             hf("Qwen2ForCausalLM", **GROUPED, **base(1e6)), tokens,
             ("transformers", "torchtune")),
    PortPair("phi3, torchtune to transformers",
             made("torchtune.models.phi3.phi3", num_kv_heads=4, norm_eps=1e-5, **TUNED),
             hf("Phi3ForCausalLM", rms_norm_eps=1e-5, pad_token_id=0, **DECODER,
                original_max_position_embeddings=32), tokens, ("transformers", "torchtune")),
    PortPair("lstm to cells", lambda: Recurrent(nn.LSTM(16, 24, 2, batch_first=True)),
             lambda: Recurrent(CellLoop(nn.LSTMCell)), steps, ()),
    PortPair("gru to cells", lambda: Recurrent(nn.GRU(16, 24, 2, batch_first=True)),
             lambda: Recurrent(CellLoop(nn.GRUCell)), steps, ()),
)  # fmt: skip
