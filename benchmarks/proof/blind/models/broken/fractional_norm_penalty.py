r"""An autoencoder with a penalty of p=0.5 on all weights, to prune it later.

Source: https://github.com/pytorch/pytorch/issues/44452
Fault: a power below 1 has an infinite slope at zero, and the biases start at zero: NaN gradients.
Cause: \bpow|p-?norm|root|infinite (slope|gradient|derivative)|\beps|fraction|power|exactly zero
Place: penalty|sparsity|bias
"""

import torch
import torch.nn.functional as F
from torch import nn


class SparseAutoencoder(nn.Module):
    def __init__(self, in_dim=20, code=30, p=0.5, lam=1e-3):
        super().__init__()
        self.encoder = nn.Linear(in_dim, code)
        self.decoder = nn.Linear(code, in_dim)
        nn.init.zeros_(self.encoder.bias)
        nn.init.zeros_(self.decoder.bias)
        self.p, self.lam = p, lam

    def forward(self, x):
        code = F.relu(self.encoder(x))
        recon = self.decoder(code)
        sparsity = sum(w.abs().pow(self.p).sum() for w in self.parameters())  # here
        return {"loss": F.mse_loss(recon, x) + self.lam * sparsity, "code": code}


def example_inputs():
    return (torch.randn(16, 20),)
