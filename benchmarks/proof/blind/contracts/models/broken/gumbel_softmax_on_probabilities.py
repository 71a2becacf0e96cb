r"""The model `DiscreteAutoencoder`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.gumbel_softmax.html
Fault: F.gumbel_softmax gets probabilities (after a softmax) instead of logits, so its samples are
    almost uniform.
Cause: gumbel.*(probab|softmax|logit|log)|logits?.*(probab|expect|already|softmax)
    |probab\w*.*(logit|log)|softmax.*(twice|double|before|gumbel)|uniform
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class DiscreteAutoencoder(nn.Module):
    def __init__(self, n_in=20, codes=8, dim=16, tau=1.0):
        super().__init__()
        self.tau = tau
        self.enc = nn.Sequential(nn.Linear(n_in, 32), nn.ReLU(), nn.Linear(32, codes))
        self.code = nn.Parameter(torch.randn(codes, dim) * 0.3)
        self.dec = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, n_in))

    def forward(self, x):
        p = self.enc(x).softmax(dim=-1)
        if self.training:
            z = F.gumbel_softmax(p, tau=self.tau, hard=False, dim=-1)
        else:
            z = F.one_hot(p.argmax(dim=-1), p.size(-1)).to(x.dtype)
        return self.dec(z @ self.code)


torch.manual_seed(0)
model = DiscreteAutoencoder()
example_inputs = (torch.randn(16, 20),)
