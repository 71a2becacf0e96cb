r"""The model `FineTunedTagger`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Embedding.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class FineTunedTagger(nn.Module):
    def __init__(self, vectors, hidden=24, tags=6):
        super().__init__()
        self.embed = nn.Embedding.from_pretrained(vectors, freeze=False)
        self.rnn = nn.LSTM(vectors.size(1), hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, tags)

    def forward(self, tokens):
        x = self.embed(tokens)
        h, _ = self.rnn(x)
        return self.out(h)

    def parameter_groups(self, lr=1e-3):
        slow = [p for p in self.embed.parameters()]
        fast = list(self.rnn.parameters()) + list(self.out.parameters())
        return [{"params": slow, "lr": lr / 10}, {"params": fast, "lr": lr}]


torch.manual_seed(0)
model = FineTunedTagger(torch.randn(120, 16))
example_inputs = (torch.randint(0, 120, (6, 14)),)
