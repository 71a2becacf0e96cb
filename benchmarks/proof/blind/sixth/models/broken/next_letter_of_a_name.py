r"""Next letter of a name from the three letters before it, with hand made weights.

Source: https://breno.bearblog.dev/the-weights-in-a-study-on-fixing-the-saturated-function
Fault: The weights of the hidden layer have unit variance, so nearly all tanh units are saturated.
Cause: saturat|flat|init\w*.{0,60}(large|scale|std|variance|big|wide|gain)
    |(weights?|pre-?activations?|\bw1).{0,40}(too (large|big|wide)|variance|scale|magnitude|std)
Place: \bw1\b
"""

import torch
from torch import nn


class NameModel(nn.Module):
    n_embd, n_hidden, block_size, vocab_size = 10, 200, 3, 27

    def __init__(self):
        super().__init__()
        g = torch.Generator().manual_seed(2147483647)
        fan_in = self.n_embd * self.block_size
        self.c = nn.Parameter(torch.randn(self.vocab_size, self.n_embd, generator=g))
        self.w1 = nn.Parameter(torch.randn(fan_in, self.n_hidden, generator=g))  # here
        self.b1 = nn.Parameter(torch.randn(self.n_hidden, generator=g) * 0.01)
        self.w2 = nn.Parameter(torch.randn(self.n_hidden, self.vocab_size, generator=g) * 0.01)
        self.b2 = nn.Parameter(torch.zeros(self.vocab_size))

    def forward(self, letters):
        embedded = self.c[letters].view(letters.size(0), -1)
        hidden = torch.tanh(embedded @ self.w1 + self.b1)
        return hidden @ self.w2 + self.b2


def build():
    return NameModel()


def example_inputs():
    return torch.randint(0, 27, (128, 3))
