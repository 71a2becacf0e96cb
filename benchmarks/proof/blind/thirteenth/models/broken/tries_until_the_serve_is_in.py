r"""Number of tries until a player's serve is in, with a chance that depends on the conditions.

Source: https://docs.pytorch.org/docs/stable/distributions.html#geometric
Fault: torch's Geometric counts the failures before the first success (from 0), but the data count
    the tries (from 1), so every chance is estimated too low.
Cause: Geometric.{0,100}(failure|from 0|from zero|zero|0\b|trial|tries|off by one|support)
    |off[- ]by[- ]one|number of (failures|trials|tries)|(failures|trials) before
    |(count|tries).{0,60}(from (1|one|0|zero)|minus one|- ?1|one too many|failures)
Place: Geometric|tries|log_prob|law
"""
import torch
import torch.nn as nn
from torch.distributions import Geometric

PLAYERS, CONDITIONS = 20, 5


class ServeModel(nn.Module):
    def __init__(self, players=PLAYERS, dim=6, hidden=32):
        super().__init__()
        self.player = nn.Embedding(players, dim)
        nn.init.normal_(self.player.weight, std=0.1)
        self.net = nn.Sequential(
            nn.Linear(dim + CONDITIONS, hidden), nn.Tanh(),
            nn.Linear(hidden, 1),
        )

    def law(self, player, conditions):
        features = torch.cat([self.player(player), conditions], dim=-1)
        return Geometric(logits=self.net(features).squeeze(-1))

    def forward(self, player, conditions, tries):
        return -self.law(player, conditions).log_prob(tries).mean()  # here

    @torch.no_grad()
    def chance(self, player, conditions):
        return self.law(player, conditions).probs


def make_serves(n, seed):
    g = torch.Generator().manual_seed(seed)
    player = torch.randint(0, PLAYERS, (n,), generator=g)
    conditions = torch.randn(n, CONDITIONS, generator=g)
    logit = 0.5 + 0.8 * conditions[:, 0] + (player.float() - 10) / 10
    chance = torch.sigmoid(logit)
    tries = torch.ones(n)
    missed = torch.rand(n, generator=g) > chance
    while missed.any():
        tries += missed
        missed = missed & (torch.rand(n, generator=g) > chance)
    return player, conditions, tries


def build():
    torch.manual_seed(0)
    return ServeModel()


def example_inputs():
    return make_serves(128, seed=26)
