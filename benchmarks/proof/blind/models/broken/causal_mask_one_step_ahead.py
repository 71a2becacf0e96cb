"""A decoder-only character model with a mask from triu.

Source: https://github.com/flashinfer-ai/flashinfer/pull/348
Fault: the mask starts at the second diagonal: each position sees the token that it must predict.
Cause: diagonal|off.?by.?one|future|leak|next token|causal|triu
Place: mask
"""

import torch
import torch.nn.functional as F
from torch import nn


class CharModel(nn.Module):
    def __init__(self, vocab=20, dim=16, block=32):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(block, dim)
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.ln = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        inputs, targets = ids[:, :-1], ids[:, 1:]
        t = inputs.size(1)
        x = self.tok(inputs) + self.pos.weight[:t]
        mask = torch.triu(torch.ones(t, t, dtype=torch.bool), diagonal=2)  # here
        h, _ = self.attn(x, x, x, attn_mask=mask, need_weights=False)
        logits = self.head(self.ln(x + h))
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return {"loss": loss, "logits": logits}


def example_inputs():
    return (torch.randint(0, 20, (2, 9)),)
