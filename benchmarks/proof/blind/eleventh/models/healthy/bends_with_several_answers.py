r"""A mixture density network for a curve that gives several answers to a question.

Source: https://github.com/tonyduan/mixture-density-network/pull/4
Healthy: the deviation comes from ELU + 1 + epsilon in place of an exponential, so that it is
    positive; the weights stay logits and go into the loss by log_softmax and logsumexp.
"""
import math
from enum import Enum, auto

import torch
import torch.nn as nn
import torch.nn.functional as F


class NoiseType(Enum):
    DIAGONAL = auto()
    ISOTROPIC = auto()
    ISOTROPIC_ACROSS_CLUSTERS = auto()
    FIXED = auto()


class MixtureDensityNetwork(nn.Module):
    """
    Mixture density network.

    [ Bishop, 1994 ]

    Parameters
    ----------
    dim_in: int; dimensionality of the covariates
    dim_out: int; dimensionality of the response variable
    n_components: int; number of components in the mixture model
    """
    def __init__(self, dim_in, dim_out, n_components, hidden_dim=None,
                 noise_type=NoiseType.DIAGONAL, fixed_noise_level=None):
        super().__init__()
        assert (fixed_noise_level is not None) == (noise_type is NoiseType.FIXED)
        num_sigma_channels = {
            NoiseType.DIAGONAL: dim_out * n_components,
            NoiseType.ISOTROPIC: n_components,
            NoiseType.ISOTROPIC_ACROSS_CLUSTERS: 1,
            NoiseType.FIXED: 0,
        }[noise_type]
        self.dim_in, self.dim_out, self.n_components = dim_in, dim_out, n_components
        self.noise_type, self.fixed_noise_level = noise_type, fixed_noise_level
        if hidden_dim is None:
            hidden_dim = dim_in
        self.pi_network = nn.Sequential(
            nn.Linear(dim_in, hidden_dim),
            nn.ReLU(),
            nn.Linear(hidden_dim, hidden_dim),
            nn.ReLU(),
            nn.Linear(hidden_dim, n_components),
        )
        self.normal_network = nn.Sequential(
            nn.Linear(dim_in, hidden_dim),
            nn.ReLU(),
            nn.Linear(hidden_dim, hidden_dim),
            nn.ReLU(),
            nn.Linear(hidden_dim, dim_out * n_components + num_sigma_channels)
        )

    def components(self, x, eps=1e-6):
        log_pi = torch.log_softmax(self.pi_network(x), dim=-1)
        normal_params = self.normal_network(x)
        mu = normal_params[..., :self.dim_out * self.n_components]
        sigma = normal_params[..., self.dim_out * self.n_components:]
        if self.noise_type is NoiseType.DIAGONAL:
            sigma = F.elu(sigma) + 1 + eps
        elif self.noise_type is NoiseType.ISOTROPIC:
            sigma = (F.elu(sigma) + 1 + eps).repeat(1, self.dim_out)
        elif self.noise_type is NoiseType.ISOTROPIC_ACROSS_CLUSTERS:
            sigma = (F.elu(sigma) + 1 + eps).repeat(1, self.n_components * self.dim_out)
        else:
            sigma = torch.full_like(mu, fill_value=self.fixed_noise_level)
        mu = mu.reshape(-1, self.n_components, self.dim_out)
        sigma = sigma.reshape(-1, self.n_components, self.dim_out)
        return log_pi, mu, sigma

    def forward(self, x, y):
        log_pi, mu, sigma = self.components(x)
        z_score = (y.unsqueeze(1) - mu) / sigma
        normal_loglik = -0.5 * torch.einsum("bij,bij->bi", z_score, z_score)
        normal_loglik = normal_loglik - torch.sum(torch.log(sigma), dim=-1)
        normal_loglik = normal_loglik - 0.5 * self.dim_out * math.log(2 * math.pi)
        loglik = torch.logsumexp(log_pi + normal_loglik, dim=-1)
        return -loglik.mean()

    @torch.no_grad()
    def sample(self, x):
        log_pi, mu, sigma = self.components(x)
        rand_pi = torch.multinomial(log_pi.exp(), 1)
        rand_mu = torch.take_along_dim(mu, rand_pi.unsqueeze(-1), dim=1).squeeze(1)
        rand_sigma = torch.take_along_dim(sigma, rand_pi.unsqueeze(-1), dim=1).squeeze(1)
        return rand_mu + rand_sigma * torch.randn_like(rand_mu)


def gen_data(n=256, seed=0):
    g = torch.Generator().manual_seed(seed)
    y = 2 * torch.rand(n, 1, generator=g) - 1
    x = 0.7 * torch.sin(5 * y) + 0.5 * y + 0.05 * torch.randn(n, 1, generator=g)
    return x, y


def build():
    torch.manual_seed(0)
    return MixtureDensityNetwork(1, 1, n_components=3, hidden_dim=32)


def example_inputs():
    return gen_data(64)
