r"""Packs short sequences of events into a plan of discrete symbols and unfolds them again.

Source: https://github.com/pytorch/pytorch/issues/97851
Fault: gumbel_softmax expects unnormalised log-probabilities but gets probabilities between 0 and
    1, so the noise always outweighs them and every symbol is drawn nearly evenly.
Cause: gumbel.{0,140}(probabilit|softmax|logit|log)
    |(probabilit|softmax).{0,100}(instead of|in place of|rather than|not|where).{0,60}(logit
    |log[- ]?probabilit|unnormali)
    |(softmax).{0,60}(twice|two times|before|already|double)
Place: gumbel_softmax|softmax|choice|logits|symbols
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

EVENTS, LENGTH, SLOTS, SYMBOLS = 8, 6, 6, 8


class PlanPacker(nn.Module):
    def __init__(self, dim=24, hidden=64, tau=0.7):
        super().__init__()
        self.tau = tau
        self.embed = nn.Embedding(EVENTS, dim)
        self.encoder = nn.Sequential(
            nn.Linear(LENGTH * dim, hidden), nn.ReLU(),
            nn.Linear(hidden, SLOTS * SYMBOLS),
        )
        self.decoder = nn.Sequential(
            nn.Linear(SLOTS * SYMBOLS, hidden), nn.ReLU(),
            nn.Linear(hidden, LENGTH * EVENTS),
        )

    def symbols(self, events):
        scores = self.encoder(self.embed(events).flatten(1)).view(-1, SLOTS, SYMBOLS)
        choice = F.softmax(scores, dim=-1)
        if not self.training:
            return F.one_hot(choice.argmax(-1), SYMBOLS).float()
        return F.gumbel_softmax(choice, tau=self.tau)  # here

    def forward(self, events):
        plan = self.symbols(events).flatten(1)
        scores = self.decoder(plan).view(-1, EVENTS)
        return F.cross_entropy(scores, events.flatten())


def make_events(n, seed):
    g = torch.Generator().manual_seed(seed)
    first = torch.randint(0, EVENTS, (n, 1), generator=g)
    pace = torch.randint(1, 4, (n, 1), generator=g)
    return (first + pace * torch.arange(LENGTH)) % EVENTS


def build():
    torch.manual_seed(0)
    return PlanPacker()


def example_inputs():
    return (make_events(96, seed=66),)
