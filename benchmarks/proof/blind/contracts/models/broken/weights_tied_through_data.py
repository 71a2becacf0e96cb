r"""The model `TiedLM`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
Fault: head.weight.data = embed.weight.data shares the memory but keeps two Parameters, so the
    optimiser updates one memory twice with separate gradients.
Cause: \.data|(two|separate|distinct|different) (parameter|gradient)|shar\w* (memory|storage)
    |same (memory|storage)|tied|tying|twice
"""

import torch
import torch.nn as nn


class TiedLM(nn.Module):
    def __init__(self, vocab=90, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        nn.init.normal_(self.embed.weight, std=0.05)
        self.rnn = nn.LSTM(dim, dim, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.tie()

    def tie(self):
        self.head.weight.data = self.embed.weight.data

    def forward(self, tokens):
        h, _ = self.rnn(self.embed(tokens))
        return self.head(self.norm(h))


torch.manual_seed(0)
model = TiedLM()
example_inputs = (torch.randint(0, 90, (4, 12)),)
