r"""A property regressor on point clouds of atoms, with its loss.

Source: https://github.com/IntelLabs/matsciml/pull/347
    https://github.com/pytorch/pytorch/issues/19699
Fault: the readout is squeezed to (batch,) but the labels are (batch, 1), so the loss compares every
    prediction with every label.
Cause: broadcast|\bshapes?\b|squeeze|view_as|all pairs|every label|(batch|16) ?(x|,|by|×)
    ?(batch|16)\b
Place: \benergy\b|\blabels\b
"""

import torch
from torch import nn


class AtomNet(nn.Module):
    def __init__(self, species=6, hidden=32):
        super().__init__()
        self.atom_embedding = nn.Embedding(species, hidden)
        self.message = nn.Sequential(nn.Linear(2 * hidden + 1, hidden), nn.SiLU())
        self.update = nn.Linear(hidden, hidden)
        self.readout = nn.Linear(hidden, 1)

    def forward(self, atoms, positions, labels):
        h = self.atom_embedding(atoms)
        n = atoms.size(1)
        distance = (positions[:, :, None] - positions[:, None]).square().sum(-1, keepdim=True)
        pair = torch.cat(
            [h[:, :, None].expand(-1, -1, n, -1), h[:, None].expand(-1, n, -1, -1), distance], -1
        )
        h = h + self.update(self.message(pair).mean(2))
        energy = self.readout(h.sum(1)).squeeze(-1)
        loss = ((energy - labels) ** 2).mean()  # here
        return {"loss": loss, "energy": energy}


def example_inputs():
    atoms = torch.randint(0, 6, (16, 5))
    return atoms, torch.randn(16, 5, 3), atoms.float().sum(1, keepdim=True) / 5
