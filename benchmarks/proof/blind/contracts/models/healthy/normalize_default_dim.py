r"""The model `LateInteraction`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.normalize.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class LateInteraction(nn.Module):
    def __init__(self, vocab=120, dim=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, 32)
        self.rnn = nn.GRU(32, dim, batch_first=True)
        self.proj = nn.Linear(dim, dim, bias=False)

    def encode(self, tokens):
        h, _ = self.rnn(self.embed(tokens))
        return F.normalize(self.proj(h), dim=-1)

    def forward(self, query, document):
        q = self.encode(query)
        d = self.encode(document)
        sim = torch.einsum("bqd,bkd->bqk", q, d)
        return sim.amax(dim=2).sum(dim=1)


torch.manual_seed(0)
model = LateInteraction()
example_inputs = (torch.randint(0, 120, (6, 5)), torch.randint(0, 120, (6, 14)),)
