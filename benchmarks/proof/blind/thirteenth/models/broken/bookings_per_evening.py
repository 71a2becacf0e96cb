r"""Number of bookings of a restaurant per evening, as a negative binomial law around a mean.

Source: https://github.com/pytorch/pytorch/issues/62178
Fault: torch's NegativeBinomial has the mean total_count * p / (1 - p), but p is computed by the
    other convention, r / (r + mean), so the fitted mean is turned upside down.
Cause: (NegativeBinomial|negative binomial).{0,140}(prob|convention|mean|success|failure|1 ?- ?p)
    |(convention|complement|1 ?- ?p|one minus|swap|revers|invert).{0,80}(prob|success|failure)
    |prob.{0,80}(convention|complement|1 ?- ?p|one minus|swap|revers|invert|success|failure)
Place: NegativeBinomial|probs|chance|law|total_count|mean|count
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import NegativeBinomial

INPUTS, RESTAURANTS = 7, 10


class Bookings(nn.Module):
    def __init__(self, dim=6, hidden=48):
        super().__init__()
        self.restaurant = nn.Embedding(RESTAURANTS, dim)
        self.net = nn.Sequential(
            nn.Linear(INPUTS + dim, hidden), nn.GELU(),
            nn.Linear(hidden, hidden), nn.GELU(),
            nn.Linear(hidden, 1),
        )
        self.raw_count = nn.Parameter(torch.tensor(2.0))

    def mean_bookings(self, evening, restaurant):
        h = torch.cat([evening, self.restaurant(restaurant)], dim=-1)
        return F.softplus(self.net(h)).squeeze(-1) + 1e-2

    def forward(self, evening, restaurant, bookings=None):
        mean = self.mean_bookings(evening, restaurant)
        if bookings is None:
            return mean
        count = F.softplus(self.raw_count) + 1e-2
        law = NegativeBinomial(total_count=count, probs=count / (count + mean))  # here
        return -law.log_prob(bookings).mean()


def make_evenings(n, seed):
    torch.manual_seed(seed)
    evening = torch.randn(n, INPUTS)
    restaurant = torch.randint(0, RESTAURANTS, (n,))
    mean = torch.exp(1.2 + 0.5 * evening[:, 0] - 0.3 * evening[:, 1] + 0.06 * restaurant)
    rate = torch.distributions.Gamma(torch.full((n,), 6.0), 6.0 / mean).sample()
    return evening, restaurant, torch.poisson(rate)


def build():
    torch.manual_seed(0)
    return Bookings()


def example_inputs():
    return make_evenings(192, seed=74)
