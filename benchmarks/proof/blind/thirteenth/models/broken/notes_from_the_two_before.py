r"""Next note of a melody by blocks that mix each note's vector with that of the note before.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.pad.html
Fault: F.pad counts its pairs from the last axis, so (1, -1) shifts the features of a note by one
    instead of the notes in time; no note ever sees the one before it.
Cause: (pad|shift).{0,100}(feature|channel|last (axis|dim)|wrong (axis|dim)|dimension|time|axis)
    |(feature|channel|last axis|last dimension).{0,60}(shift|pad)
    |(never|no|not|does not|cannot).{0,60}(previous|before|other (notes|positions|steps)|earlier)
Place: shift|pad|before|NoteMix
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

NOTES, LENGTH = 7, 24


class NoteMix(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.share = nn.Parameter(torch.full((dim,), 0.5))
        self.wide = nn.Linear(dim, hidden)
        self.gate = nn.Linear(dim, hidden)
        self.narrow = nn.Linear(hidden, dim)

    def forward(self, x):
        h = self.norm(x)
        before = F.pad(h, (1, -1))  # here
        mixed = self.share * h + (1 - self.share) * before
        return x + self.narrow(F.silu(self.wide(mixed)) * self.gate(mixed))


class MelodyModel(nn.Module):
    def __init__(self, dim=48, hidden=96, depth=3):
        super().__init__()
        self.embed = nn.Embedding(NOTES, dim)
        self.blocks = nn.Sequential(*[NoteMix(dim, hidden) for _ in range(depth)])
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, NOTES))

    def forward(self, notes):
        scores = self.head(self.blocks(self.embed(notes[:, :-1])))
        return F.cross_entropy(scores.flatten(0, 1), notes[:, 1:].flatten())


def make_melodies(n, seed):
    g = torch.Generator().manual_seed(seed)
    notes = torch.randint(0, NOTES, (n, LENGTH), generator=g)
    for step in range(2, LENGTH):
        rule = (notes[:, step - 1] + notes[:, step - 2]) % NOTES
        free = torch.rand(n, generator=g) < 0.1
        notes[:, step] = torch.where(free, notes[:, step], rule)
    return notes


def build():
    torch.manual_seed(0)
    return MelodyModel()


def example_inputs():
    return (make_melodies(48, seed=28),)
