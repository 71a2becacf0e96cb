"""A causal language model with a mask in the additive form.

Source: https://github.com/QwenLM/Qwen/issues/933
Fault: masked_fill returns a new tensor that is thrown away, so every token sees the future.
Cause: in.?place|masked_fill|return|discard|causal|future|result
Place: mask
"""

import torch
import torch.nn.functional as F
from torch import nn


class QwenBlock(nn.Module):
    def __init__(self, vocab=20, dim=16, heads=2):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.c_attn = nn.Linear(dim, 3 * dim)
        self.c_proj = nn.Linear(dim, dim)
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        self.heads = heads

    def forward(self, input_ids):
        x = self.wte(input_ids)
        b, t, c = x.shape
        query, key, value = (
            z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.c_attn(x).chunk(3, dim=-1)
        )
        causal_mask = torch.tril(torch.ones(t, t, dtype=torch.bool)).view(1, 1, t, t)
        attention_mask = torch.zeros(b, 1, t, t)
        attention_mask.masked_fill(~causal_mask, torch.finfo(query.dtype).min)  # here
        out = F.scaled_dot_product_attention(query, key, value, attn_mask=attention_mask)
        return self.lm_head(x + self.c_proj(out.transpose(1, 2).reshape(b, t, c)))


def example_inputs():
    return (torch.randint(0, 20, (2, 8)),)
