r"""Causal self-attention of a small GPT with the fused kernel.

Source: https://github.com/karpathy/nanoGPT/pull/240
Fault: dropout_p is constant, so attention drops entries at evaluation as well.
Cause: dropout(_p| is| at| in| stays| ignores).*(eval|train|infer|random|active|on)|self\.training
Place: dropout
"""

import torch
import torch.nn.functional as F
from torch import nn


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd=16, n_head=4, dropout=0.2):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.resid_dropout = nn.Dropout(dropout)
        self.n_head, self.dropout = n_head, dropout

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = (
            z.view(b, t, self.n_head, c // self.n_head).transpose(1, 2)
            for z in self.c_attn(x).split(c, dim=2)
        )
        drop = self.dropout  # here
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=drop, is_causal=True)
        y = y.transpose(1, 2).contiguous().view(b, t, c)
        return self.resid_dropout(self.c_proj(y))


def example_inputs():
    return (torch.randn(2, 8, 16),)
