r"""Finds pits on a scanned strip of metal: a score and an exact place and width for every cell.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.smooth_l1_loss.html
Healthy: the box loss is a sum over the few cells with a pit, divided by their number and not by
    all cells, with a small beta; cells without a pit give the box head no gradient, as usual.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

CELLS, STEP = 16, 8


class PitFinder(nn.Module):
    def __init__(self, channels=24):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(1, channels, 5, padding=2), nn.SiLU(),
            nn.Conv1d(channels, channels, 5, stride=2, padding=2), nn.SiLU(),
            nn.Conv1d(channels, channels, 5, stride=2, padding=2), nn.SiLU(),
            nn.Conv1d(channels, channels, 5, stride=2, padding=2), nn.SiLU(),
        )
        self.score = nn.Conv1d(channels, 1, 1)
        self.box = nn.Conv1d(channels, 2, 1)

    def forward(self, strip, pit, box):
        h = self.body(strip)
        score = self.score(h).squeeze(1)
        found = F.binary_cross_entropy_with_logits(score, pit)
        there = pit.unsqueeze(1).expand_as(box)
        gap = F.smooth_l1_loss(self.box(h) * there, box * there, reduction="sum", beta=0.1)
        return found + gap / pit.sum().clamp(min=1)


def make_strips(n, seed):
    g = torch.Generator().manual_seed(seed)
    pit = (torch.rand(n, CELLS, generator=g) < 0.15).float()
    offset = torch.rand(n, CELLS, generator=g)
    width = 0.5 + torch.rand(n, CELLS, generator=g)
    centre = (torch.arange(CELLS) + offset) * STEP
    x = torch.arange(CELLS * STEP).view(1, -1, 1)
    dent = torch.exp(-((x - centre.unsqueeze(1)) / (2 * width.unsqueeze(1))) ** 2)
    strip = -(dent * pit.unsqueeze(1)).sum(-1) + 0.05 * torch.randn(n, CELLS * STEP, generator=g)
    box = torch.stack([offset, width], dim=1) * pit.unsqueeze(1)
    return strip.unsqueeze(1), pit, box


def build():
    torch.manual_seed(0)
    return PitFinder()


def example_inputs():
    return make_strips(48, seed=5)
