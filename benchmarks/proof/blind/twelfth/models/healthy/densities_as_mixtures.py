r"""A mixture density network for a relation with several answers, its loss a logsumexp.

Source: https://github.com/tonyduan/mixture-density-network/issues/1
Healthy: log(pi) is added to the log-likelihood of each component inside a logsumexp and is not
    averaged, as somebody proposed: a sum of log-probabilities would not be a mixture.
"""

import torch
import torch.nn as nn
from torch.distributions import Normal, OneHotCategorical


class MixtureDensityNetwork(nn.Module):
    """
    Mixture density network.

    [ Bishop, 1994 ]
    """

    def __init__(self, dim_in, dim_out, n_components):
        super().__init__()
        self.pi_network = CategoricalNetwork(dim_in, n_components)
        self.normal_network = MixtureDiagNormalNetwork(dim_in, dim_out, n_components)

    def forward(self, x, y=None):
        pi, normal = self.pi_network(x), self.normal_network(x)
        if y is None:
            return torch.sum(pi.probs.unsqueeze(2) * normal.loc, dim=1)
        return self.loss(pi, normal, y)

    def loss(self, pi, normal, y):
        loglik = normal.log_prob(y.unsqueeze(1).expand_as(normal.loc))
        loglik = torch.sum(loglik, dim=2)
        loss = -torch.logsumexp(torch.log(pi.probs) + loglik, dim=1)
        return loss.mean()

    def sample(self, x):
        pi, normal = self.pi_network(x), self.normal_network(x)
        return torch.sum(pi.sample().unsqueeze(2) * normal.sample(), dim=1)


class MixtureDiagNormalNetwork(nn.Module):
    def __init__(self, in_dim, out_dim, n_components, hidden_dim=32):
        super().__init__()
        self.n_components = n_components
        self.network = nn.Sequential(
            nn.Linear(in_dim, hidden_dim),
            nn.ELU(),
            nn.Linear(hidden_dim, 2 * out_dim * n_components),
        )

    def forward(self, x):
        params = self.network(x)
        mean, sd = torch.split(params, params.shape[1] // 2, dim=1)
        mean = torch.stack(mean.split(mean.shape[1] // self.n_components, 1))
        sd = torch.stack(sd.split(sd.shape[1] // self.n_components, 1))
        return Normal(mean.transpose(0, 1), torch.exp(sd).transpose(0, 1))


class CategoricalNetwork(nn.Module):
    def __init__(self, in_dim, out_dim, hidden_dim=32):
        super().__init__()
        self.network = nn.Sequential(
            nn.Linear(in_dim, hidden_dim),
            nn.ELU(),
            nn.Linear(hidden_dim, out_dim),
        )

    def forward(self, x):
        params = self.network(x)
        return OneHotCategorical(logits=params)


def build():
    torch.manual_seed(0)
    return MixtureDensityNetwork(1, 1, n_components=4)


def example_inputs():
    torch.manual_seed(1)
    y = torch.rand(256, 1) * 2 - 1
    x = y + 0.4 * torch.sin(6.0 * y) + 0.05 * torch.randn(256, 1)
    return x, y
