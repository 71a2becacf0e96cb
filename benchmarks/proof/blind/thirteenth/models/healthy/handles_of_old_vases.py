r"""Brings measurements of vases of one workshop near to each other and others away from them.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.TripletMarginLoss.html
Healthy: one encoder is called three times in a forward pass, the swap of anchor and positive is
    switched on, and triplets that are far enough apart already give no gradient.
"""
import torch
import torch.nn as nn

MEASURES, WORKSHOPS = 14, 10


class VaseEncoder(nn.Module):
    def __init__(self, hidden=24, out=6):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(MEASURES, hidden), nn.LayerNorm(hidden), nn.SiLU(),
            nn.Linear(hidden, out),
        )

    def forward(self, measures):
        return self.net(measures)


class VaseTriplets(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = VaseEncoder()
        self.criterion = nn.TripletMarginLoss(margin=1.0, swap=True)

    def forward(self, anchor, alike, other):
        vectors = [self.encoder(part) for part in (anchor, alike, other)]
        return self.criterion(*vectors)


def measure(workshop, g):
    habit = torch.randn(WORKSHOPS, 4, generator=torch.Generator().manual_seed(9))
    mixing = torch.randn(8, MEASURES, generator=torch.Generator().manual_seed(10))
    chance = torch.randn(len(workshop), 4, generator=g)
    both = torch.cat([habit[workshop], chance], dim=-1)
    return torch.tanh(both @ mixing / 2) + 0.6 * torch.randn(len(workshop), MEASURES, generator=g)


def make_triplets(n, seed):
    g = torch.Generator().manual_seed(seed)
    one = torch.randint(0, WORKSHOPS, (n,), generator=g)
    two = (one + torch.randint(1, WORKSHOPS, (n,), generator=g)) % WORKSHOPS
    return measure(one, g), measure(one, g), measure(two, g)


def build():
    torch.manual_seed(0)
    return VaseTriplets()


def example_inputs():
    return make_triplets(384, seed=11)
