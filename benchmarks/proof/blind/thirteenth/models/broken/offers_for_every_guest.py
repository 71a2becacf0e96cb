r"""Picks the offer that a guest takes out of several offers that were shown to this guest.

Source: https://docs.pytorch.org/docs/stable/generated/torch.tile.html
Fault: tile repeats the whole batch of guests, while the flattened offers run through all offers
    of one guest first, so most offers are scored with another guest.
Cause: (tile|repeat).{0,120}(interleav|order|batch|other|wrong|guest|each|pair|block|align)
    |repeat_interleave
    |(guest|offer|row|example|sample)s?.{0,80}(mixed|mis-?align|wrong|another|other|not match
    |do not line up|paired)
Place: tile|guests|repeated|scores|guest
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

GUEST, OFFER, SHOWN = 8, 8, 5


class OfferChoice(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.guest = nn.Sequential(nn.Linear(GUEST, dim), nn.ReLU())
        self.offer = nn.Sequential(nn.Linear(OFFER, dim), nn.ReLU())
        self.score = nn.Sequential(
            nn.Linear(2 * dim, 64), nn.ReLU(),
            nn.Linear(64, 1),
        )

    def forward(self, guest, offers, taken):
        batch, shown, _ = offers.shape
        flat = self.offer(offers.reshape(batch * shown, -1))
        guests = self.guest(guest).tile((shown, 1))  # here
        scores = self.score(torch.cat([guests, flat], dim=-1))
        return F.cross_entropy(scores.view(batch, shown), taken)


def make_choices(n, seed):
    g = torch.Generator().manual_seed(seed)
    guest = torch.randn(n, GUEST, generator=g)
    offers = torch.randn(n, SHOWN, OFFER, generator=g)
    liking = 2 * (guest[:, :2].sign().unsqueeze(1) * offers[:, :, :2]).sum(-1)
    noise = -torch.log(-torch.log(torch.rand(n, SHOWN, generator=g).clamp(1e-6, 1 - 1e-6)))
    return guest, offers, (liking + 0.3 * noise).argmax(1)


def build():
    torch.manual_seed(0)
    return OfferChoice()


def example_inputs():
    return make_choices(128, seed=44)
