r"""Update of the relations between residues of a protein by the triangles they form.

Source: https://github.com/aqlaboratory/openfold/blob/main/openfold/model/primitives.py
Odd: The gates start with weights of zero and biases of one, and the last linear layer of each
    update starts as zeros.
"""

import torch
from torch import nn


def linear(inputs, outputs, init="default", bias=True):
    layer = nn.Linear(inputs, outputs, bias=bias)
    with torch.no_grad():
        if bias:
            layer.bias.zero_()
        if init == "gating":
            layer.weight.zero_()
            layer.bias.fill_(1.0)
        elif init == "final":
            layer.weight.zero_()
        else:
            nn.init.trunc_normal_(layer.weight, std=inputs**-0.5)
    return layer


class TriangleUpdate(nn.Module):
    def __init__(self, c_z, c_hidden, outgoing):
        super().__init__()
        self.outgoing = outgoing
        self.a_p, self.a_g = linear(c_z, c_hidden), linear(c_z, c_hidden, "gating")
        self.b_p, self.b_g = linear(c_z, c_hidden), linear(c_z, c_hidden, "gating")
        self.g, self.z = linear(c_z, c_z, "gating"), linear(c_hidden, c_z, "final")
        self.norm_in, self.norm_out = nn.LayerNorm(c_z), nn.LayerNorm(c_hidden)

    def forward(self, z, mask):
        z, mask = self.norm_in(z), mask.unsqueeze(-1)
        a = mask * torch.sigmoid(self.a_g(z)) * self.a_p(z)
        b = mask * torch.sigmoid(self.b_g(z)) * self.b_p(z)
        rule = "bikc,bjkc->bijc" if self.outgoing else "bkic,bkjc->bijc"
        x = self.z(self.norm_out(torch.einsum(rule, a, b)))
        return x * torch.sigmoid(self.g(z))


class Transition(nn.Module):
    def __init__(self, c_z, n=2):
        super().__init__()
        self.norm = nn.LayerNorm(c_z)
        self.first, self.last = linear(c_z, n * c_z), linear(n * c_z, c_z, "final")

    def forward(self, z, mask):
        return self.last(torch.relu(self.first(self.norm(z)))) * mask.unsqueeze(-1)


class Residues(nn.Module):
    def __init__(self, kinds=21, c_z=24, blocks=2, bins=16):
        super().__init__()
        self.left, self.right = nn.Embedding(kinds, c_z), nn.Embedding(kinds, c_z)
        self.relative = nn.Embedding(17, c_z)
        self.blocks = nn.ModuleList()
        for _ in range(blocks):
            self.blocks.append(TriangleUpdate(c_z, 16, outgoing=True))
            self.blocks.append(TriangleUpdate(c_z, 16, outgoing=False))
            self.blocks.append(Transition(c_z))
        self.distogram = linear(c_z, bins, "final")

    def forward(self, chain, present):
        place = torch.arange(chain.size(1), device=chain.device)
        offset = (place[None] - place[:, None]).clamp(-8, 8) + 8
        z = self.left(chain)[:, :, None] + self.right(chain)[:, None] + self.relative(offset)
        mask = present[:, :, None] * present[:, None]
        for block in self.blocks:
            z = z + block(z, mask)
        scores = self.distogram(z)
        return scores + scores.transpose(1, 2)


def build():
    return Residues()


def example_inputs():
    present = torch.ones(2, 14)
    present[1, 10:] = 0
    return torch.randint(0, 21, (2, 14)), present
