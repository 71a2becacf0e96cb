r"""A text classifier on a frozen encoder, trained through low-rank additions to its projections.

Source: https://github.com/circle-hit/SAPT/issues/11
Fault: Both low-rank factors are zeros at the start; each one's gradient is a product with the other
    one, so both stay zero for ever and the addition learns nothing.
Cause: (both|lora_a|lora_b|factors?|matrices|low[ -]rank|a and b).{0,120}(zero|0\b)
    |(zero|zeros)\w*.{0,80}(both|lora|factors?|low[ -]rank|init\w*)
    |gradients? .{0,60}(zero|vanish).{0,60}(other|lora|factor)
Place: lora_A|lora_B|LoRALayer
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class LoRALayer(nn.Module):
    def __init__(self, in_features, out_features, r, lora_alpha=16, lora_dropout=0.0):
        super().__init__()
        self.r = r
        self.lora_alpha = lora_alpha
        self.scaling = lora_alpha / r
        self.lora_dropout = nn.Dropout(p=lora_dropout)
        self.lora_A = nn.Parameter(torch.zeros((in_features, r)), requires_grad=True)  # here
        self.lora_B = nn.Parameter(torch.zeros((r, out_features)), requires_grad=True)

    def forward(self, x):
        return (self.lora_dropout(x) @ self.lora_A @ self.lora_B) * self.scaling


class T5Attention(nn.Module):
    def __init__(self, d_model, num_heads, r):
        super().__init__()
        self.n_heads = num_heads
        self.d_kv = d_model // num_heads
        self.q = nn.Linear(d_model, d_model, bias=False)
        self.k = nn.Linear(d_model, d_model, bias=False)
        self.v = nn.Linear(d_model, d_model, bias=False)
        self.o = nn.Linear(d_model, d_model, bias=False)
        self.lora_q = LoRALayer(d_model, d_model, r)
        self.lora_v = LoRALayer(d_model, d_model, r)

    def shape(self, states):
        b = states.size(0)
        return states.view(b, -1, self.n_heads, self.d_kv).transpose(1, 2)

    def forward(self, hidden_states, mask):
        query = self.shape(self.q(hidden_states) + self.lora_q(hidden_states))
        key = self.shape(self.k(hidden_states))
        value = self.shape(self.v(hidden_states) + self.lora_v(hidden_states))
        scores = torch.matmul(query, key.transpose(3, 2)) / math.sqrt(self.d_kv)
        scores = scores.masked_fill(~mask[:, None, None, :], -1e9)
        weights = F.softmax(scores.float(), dim=-1)
        out = torch.matmul(weights, value).transpose(1, 2).flatten(2)
        return self.o(out)


class T5Block(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, r):
        super().__init__()
        self.SelfAttention = T5Attention(d_model, num_heads, r)
        self.layer_norm = nn.LayerNorm(d_model)
        self.wi = nn.Linear(d_model, d_ff, bias=False)
        self.wo = nn.Linear(d_ff, d_model, bias=False)
        self.ff_norm = nn.LayerNorm(d_model)

    def forward(self, x, mask):
        x = x + self.SelfAttention(self.layer_norm(x), mask)
        x = x + self.wo(F.relu(self.wi(self.ff_norm(x))))
        return x


class PromptedEncoder(nn.Module):
    def __init__(self, vocab_size=120, d_model=32, num_heads=4, d_ff=64, num_layers=2, r=4,
                 num_labels=4):
        super().__init__()
        self.shared = nn.Embedding(vocab_size, d_model)
        self.block = nn.ModuleList(
            [T5Block(d_model, num_heads, d_ff, r) for _ in range(num_layers)])
        self.final_layer_norm = nn.LayerNorm(d_model)
        self.lm_head = nn.Linear(d_model, num_labels)
        for name, param in self.named_parameters():
            if 'lora' not in name and 'lm_head' not in name:
                param.requires_grad = False

    def forward(self, input_ids, attention_mask):
        x = self.shared(input_ids)
        mask = attention_mask.bool()
        for layer in self.block:
            x = layer(x, mask)
        x = self.final_layer_norm(x)
        m = attention_mask.unsqueeze(-1).float()
        pooled = (x * m).sum(1) / m.sum(1)
        return self.lm_head(pooled)


def build():
    torch.manual_seed(0)
    return PromptedEncoder()


def example_inputs():
    torch.manual_seed(1)
    ids = torch.randint(1, 120, (6, 14))
    mask = (torch.arange(14)[None] < torch.tensor([14, 9, 12, 5, 14, 8])[:, None]).long()
    return ids, mask
