"""A character model with ignore_index=-1 in its loss.

Source: https://github.com/karpathy/nanoGPT/issues/297
Odd: no target is ever -1, so the option does nothing.
"""

import torch
import torch.nn.functional as F
from torch import nn


class CharGPT(nn.Module):
    def __init__(self, vocab=15, n_embd=16, block=8):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, n_embd), nn.Embedding(block, n_embd)
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)
        self.lm_head = nn.Linear(n_embd, vocab, bias=False)

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        q, k, v = self.c_attn(x).chunk(3, dim=-1)
        x = x + self.c_proj(F.scaled_dot_product_attention(q, k, v, is_causal=True))
        logits = self.lm_head(x)
        loss = F.cross_entropy(logits.view(-1, 15), targets.view(-1), ignore_index=-1)
        return {"loss": loss, "logits": logits}


def example_inputs():
    return (
        torch.randint(0, 15, (4, 8)),
        torch.randint(0, 15, (4, 8)),
    )
