r"""Mean of the k largest activations of every channel.

Source: https://docs.pytorch.org/docs/stable/generated/torch.topk.html
Fault: topk works on the last dimension by default, which is the features of [B, T, C], while the
    k largest over time are meant.
Cause: top_?k.*(dim|axis|last|feature|time|default|wrong)
    |(dim|axis).*(top_?k|default|feature|time)
    |(feature|channel)s?.*(mix|sort|select|instead|lost|identity)
"""

import torch
import torch.nn as nn


class KMaxPool(nn.Module):
    """Mean of the k largest activations of every channel."""

    def __init__(self, k=3):
        super().__init__()
        self.k = k

    def forward(self, h):
        return h.topk(self.k).values.mean(dim=-1)


class AlarmNet(nn.Module):
    def __init__(self, features=6, steps=20, dim=20, out=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(features, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.pool = KMaxPool(3)
        self.head = nn.Linear(dim, out)

    def forward(self, x):
        # x: [batch, steps, features]
        return self.head(self.pool(self.enc(x)))


torch.manual_seed(0)
model = AlarmNet()
example_inputs = (torch.randn(6, 20, 6),)
