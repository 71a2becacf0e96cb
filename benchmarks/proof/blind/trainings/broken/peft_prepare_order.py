"""Fine-tunes a tiny text classifier with LoRA adapters, prepared as for k-bit training.

Source: https://github.com/huggingface/transformers/issues/26098
Fault: The preparation freezes every parameter after the adapters are in place, so the adapters
    are frozen too and only the classifier head learns.
Cause: (lora|adapter).*(frozen|freez|never|not trained)|freez.*(lora|adapter)|requires_grad
Place: lora_(A|B)|q_proj|v_proj|adapter
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class LoraLinear(nn.Module):
    def __init__(self, base, r=4, alpha=8):
        super().__init__()
        self.base_layer = base
        self.lora_A = nn.Linear(base.in_features, r, bias=False)
        self.lora_B = nn.Linear(r, base.out_features, bias=False)
        nn.init.kaiming_uniform_(self.lora_A.weight, a=math.sqrt(5))
        nn.init.zeros_(self.lora_B.weight)
        self.scaling = alpha / r

    def forward(self, x):
        return self.base_layer(x) + self.lora_B(self.lora_A(x)) * self.scaling


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q_proj = nn.Linear(dim, dim)
        self.k_proj = nn.Linear(dim, dim)
        self.v_proj = nn.Linear(dim, dim)

    def forward(self, x):
        return F.scaled_dot_product_attention(self.q_proj(x), self.k_proj(x), self.v_proj(x))


class TinyLM(nn.Module):
    def __init__(self, vocab=40, dim=24):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.self_attn = Attention(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.GELU())
        self.score = nn.Linear(dim, 2)

    def forward(self, ids):
        h = self.embed_tokens(ids)
        h = h + self.self_attn(h)
        return self.score(self.mlp(h)[:, -1])


def get_peft_model(model):
    for param in model.parameters():
        param.requires_grad = False
    model.self_attn.q_proj = LoraLinear(model.self_attn.q_proj)
    model.self_attn.v_proj = LoraLinear(model.self_attn.v_proj)
    return model


def prepare_model_for_training(model):
    for param in model.parameters():
        param.requires_grad = False
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            module.weight.data = module.weight.data.float()
    model.score.requires_grad_(True)
    return model


torch.manual_seed(0)
model = get_peft_model(TinyLM())
model = prepare_model_for_training(model)  # here
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
ids = torch.randint(0, 40, (256, 8))
labels = (ids[:, 0] < 20).long()
for step in range(120):
    batch = torch.randint(0, 256, (64,))
    loss = F.cross_entropy(model(ids[batch]), labels[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step} loss {loss.item():.4f}")
