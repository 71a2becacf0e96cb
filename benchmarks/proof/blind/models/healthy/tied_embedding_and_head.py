"""A language model whose output layer is the embedding matrix.

Source: https://github.com/pytorch/torchtitan/pull/3225
    https://github.com/karpathy/nanoGPT/pull/209
Odd: one parameter appears under two names; that is weight tying.
"""

import torch
import torch.nn.functional as F
from torch import nn


class TiedLM(nn.Module):
    def __init__(self, vocab=20, dim=16):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, ids):
        hidden, _ = self.rnn(self.wte(ids[:, :-1]))
        logits = self.lm_head(hidden)
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        return {"loss": loss, "logits": logits}


def example_inputs():
    return (torch.randint(0, 20, (4, 8)),)
