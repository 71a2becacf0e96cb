r"""The model `SalientTokens`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.gather.html
Fault: x[:, index] with a [B, K] index gives [B, B, K, C]: every sample is read with the indices
    of all samples, and the mean then mixes them.
Cause: gather|(advanced|fancy|integer).*index|index\w*.*(batch|sample|all|other|cross)
    |(mix|cross|leak|depend)\w*.*(batch|sample)|(other|all) samples|\[b, ?b
"""

import torch
import torch.nn as nn


class SalientTokens(nn.Module):
    def __init__(self, features=6, dim=24, k=4, out=3):
        super().__init__()
        self.k = k
        self.inp = nn.Linear(features, dim)
        self.score = nn.Linear(dim, 1, bias=False)
        self.head = nn.Linear(dim, out)

    def forward(self, x):
        h = torch.tanh(self.inp(x))
        score = self.score(h).squeeze(-1)
        top, index = score.topk(self.k, dim=1)
        picked = h[:, index].mean(dim=1)
        w = top.softmax(dim=1).unsqueeze(-1)
        return self.head((w * picked).sum(dim=1))


torch.manual_seed(0)
model = SalientTokens()
example_inputs = (torch.randn(6, 12, 6),)
