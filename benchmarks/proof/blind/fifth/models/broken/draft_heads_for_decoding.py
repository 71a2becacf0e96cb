r"""Additional heads that guess the tokens after the next one from the last hidden state.

Source: https://github.com/linkedin/Liger-Kernel/pull/269
Fault: The list is multiplied, so the blocks of a head are one and the same object.
Cause: shar(ed?|es|ing)|same (weights?|layer|module|block|object|parameters?)
    |(used|called|runs?|applied) (\w+ ){0,3}(times|more than once|twice)|reus\w+|several times
    |alias
Place: \bmedusa_head\.\d\.[01]\b
"""

import torch
from torch import nn


class ResBlock(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.linear = nn.Linear(hidden_size, hidden_size)
        nn.init.normal_(self.linear.weight, std=0.02)
        self.act = nn.SiLU()

    def forward(self, x):
        return x + self.act(self.linear(x))


class MedusaModel(nn.Module):
    def __init__(self, vocab=100, hidden_size=32, num_heads=3, num_layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden_size)
        self.backbone = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.lm_head = nn.Linear(hidden_size, vocab, bias=False)
        self.medusa_head = nn.ModuleList(
            nn.Sequential(
                *([ResBlock(hidden_size)] * num_layers),  # here
                nn.Linear(hidden_size, vocab, bias=False),
            )
            for _ in range(num_heads)
        )

    def forward(self, input_ids):
        hidden, _ = self.backbone(self.embed(input_ids))
        logits = [self.lm_head(hidden)]
        logits.extend(head(hidden) for head in self.medusa_head)
        return torch.stack(logits, dim=0)


def build():
    return MedusaModel()


def example_inputs():
    return torch.randint(0, 100, (4, 20))
