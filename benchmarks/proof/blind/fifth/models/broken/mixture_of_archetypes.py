r"""Contextual regression whose coefficients are a mixture of a few archetypes.

Source: https://github.com/AdaptInfer/Contextualized/issues/33
Fault: The archetypes are drawn by rand from 0 to 1, so all are positive and much too large.
Cause: \binit\w*|positive|not cent(er|re)d|(scale|std|magnitude|size) of .*(weight|parameter)
    |\brand\b|uniform
Place: \barchetypes\b
"""

import torch
from torch import nn


class Explainer(nn.Module):
    def __init__(self, k, shape):
        super().__init__()
        self.archetypes = nn.Parameter(torch.rand(k, *shape))  # here

    def forward(self, subtype):
        return torch.einsum("nk,kij->nij", subtype, self.archetypes)


class ContextualizedRegression(nn.Module):
    def __init__(self, contexts=10, features=200, outputs=3, k=16, width=32):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(contexts, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.mixer = nn.Linear(width, k)
        self.explainer = Explainer(k, (outputs, features + 1))

    def forward(self, context, x):
        beta = self.explainer(self.mixer(self.encoder(context)).softmax(dim=1))
        weight, mu = beta[:, :, :-1], beta[:, :, -1]
        return torch.einsum("nij,nj->ni", weight, x) + mu


def build():
    return ContextualizedRegression()


def example_inputs():
    return torch.randn(32, 10), torch.rand(32, 200)
