r"""A variational graph autoencoder for link prediction on a dense adjacency matrix.

Source: https://github.com/DaehanKim/vgae_pytorch/issues/2
Fault: the KL uses exp(logstd) instead of its square: its optimum is sigma 2, not the unit prior.
Cause: square|\*\* ?2|varian|\bKL\b|\bexp\b|factor|prior
Place: kl|logstd
"""

import torch
import torch.nn.functional as F
from torch import nn


class VGAE(nn.Module):
    def __init__(self, input_dim=8, hidden1=16, hidden2=4):
        super().__init__()
        self.base_gcn = nn.Linear(input_dim, hidden1, bias=False)
        self.gcn_mean = nn.Linear(hidden1, hidden2, bias=False)
        self.gcn_logstd = nn.Linear(hidden1, hidden2, bias=False)

    @staticmethod
    def normalize(adj):
        adj = ((adj + adj.T + torch.eye(adj.size(0))) > 0).float()
        d = adj.sum(1).rsqrt()
        return d[:, None] * adj * d[None], adj

    def forward(self, x, adj):
        a_hat, label = self.normalize(adj)
        hidden = F.relu(a_hat @ self.base_gcn(x))
        mean = a_hat @ self.gcn_mean(hidden)
        logstd = a_hat @ self.gcn_logstd(hidden)
        z = mean + torch.randn_like(mean) * logstd.exp()
        recon = F.binary_cross_entropy_with_logits(z @ z.T, label)
        kl = -0.5 / x.size(0) * (1 + 2 * logstd - mean**2 - torch.exp(logstd)).sum(1).mean()  # here
        return {"loss": recon + kl, "z": z}


def example_inputs():
    return (
        torch.randn(12, 8),
        (torch.rand(12, 12) > 0.7).float(),
    )
