r"""Describes scents by a few notes each: an autoencoder that keeps its largest hidden values only.

Source: https://docs.pytorch.org/docs/stable/generated/torch.topk.html
Healthy: for each scent most hidden values are set to zero and get no gradient, but the values that
    are kept carry it, and over a batch every unit is among the kept ones now and then.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

SENSORS, NOTES, KEPT = 24, 16, 4


class ScentNotes(nn.Module):
    def __init__(self, sensors=SENSORS, notes=NOTES, kept=KEPT):
        super().__init__()
        self.kept = kept
        self.centre = nn.Parameter(torch.zeros(sensors))
        self.encoder = nn.Linear(sensors, notes)
        self.decoder = nn.Linear(notes, sensors, bias=False)
        with torch.no_grad():
            self.decoder.weight.copy_(F.normalize(self.encoder.weight, dim=1).T)

    def notes(self, scent):
        strength = self.encoder(scent - self.centre)
        top, place = strength.topk(self.kept, dim=-1)
        return torch.zeros_like(strength).scatter(-1, place, top)

    def forward(self, scent):
        again = self.decoder(self.notes(scent)) + self.centre
        return F.mse_loss(again, scent)


def make_scents(n, seed):
    g = torch.Generator().manual_seed(seed)
    parts = torch.randn(12, SENSORS, generator=torch.Generator().manual_seed(3))
    amount = torch.rand(n, 12, generator=g) + 0.5
    present = torch.rand(n, 12, generator=g).argsort(dim=1) < 3
    return (amount * present) @ parts / 3 + 0.02 * torch.randn(n, SENSORS, generator=g)


def build():
    torch.manual_seed(0)
    return ScentNotes()


def example_inputs():
    return (make_scents(256, seed=4),)
