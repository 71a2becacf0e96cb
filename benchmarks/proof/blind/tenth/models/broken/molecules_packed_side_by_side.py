r"""Property of molecules, many packed into one long list of atoms with attention among them.

Source: https://github.com/leffff/graphormer-pyg/issues/14
Fault: The softmax runs over the atoms of all the molecules of the batch, and those of other
    molecules are only multiplied by zero, which leaves a score of zero and not minus infinity.
Cause: (softmax|attention).{0,140}(other (molecules?|graphs?)|across|between (different )?(molecules|graphs)|all (the )?(molecules|graphs|atoms|nodes)|batch|zero)
    |(mask\w*|batch_mask).{0,120}(multipl\w*|zero|\binf|infinity)|(multipl\w*).{0,80}(mask|instead|zero)
    |(molecules?|graphs?).{0,80}(leak|mix|attend|see|influence|depend)\w*
Place: mask|softmax|attention|batch_mask|scores|\bheads\b
"""

import torch
from torch import nn


class GraphAttentionHead(nn.Module):
    def __init__(self, dim_in, dim_head):
        super().__init__()
        self.q, self.k = nn.Linear(dim_in, dim_head), nn.Linear(dim_in, dim_head)
        self.v = nn.Linear(dim_in, dim_head)

    def forward(self, x, bias, ptr):
        batch_mask = torch.zeros(len(x), len(x), device=x.device)
        for start, stop in zip(ptr[:-1].tolist(), ptr[1:].tolist()):
            batch_mask[start:stop, start:stop] = 1
        query, key, value = self.q(x), self.k(x), self.v(x)
        a = query @ key.t() / query.shape[1] ** 0.5
        a = (a + bias) * batch_mask  # here
        return torch.softmax(a, dim=-1) @ value


class GraphLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = nn.ModuleList(GraphAttentionHead(width, width // heads) for _ in range(heads))
        self.mix = nn.Linear(width, width)
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.ff = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x, bias, ptr):
        h = self.ln_1(x)
        x = x + self.mix(torch.cat([head(h, bias, ptr) for head in self.heads], -1))
        return x + self.ff(self.ln_2(x))


class MoleculeNet(nn.Module):
    def __init__(self, atoms=12, width=32, heads=4, layers=2, max_path=5):
        super().__init__()
        self.atom, self.degree = nn.Embedding(atoms, width), nn.Embedding(8, width)
        self.spatial = nn.Parameter(0.1 * torch.randn(max_path + 1))
        self.layers = nn.ModuleList(GraphLayer(width, heads) for _ in range(layers))
        self.out = nn.Linear(width, 1)
        self.max_path = max_path

    def forward(self, atoms, degrees, paths, ptr):
        x = self.atom(atoms) + self.degree(degrees)
        bias = self.spatial[paths.clamp(max=self.max_path)]
        for layer in self.layers:
            x = layer(x, bias, ptr)
        sizes = ptr[1:] - ptr[:-1]
        owner = torch.repeat_interleave(torch.arange(len(sizes), device=x.device), sizes)
        pooled = x.new_zeros(len(sizes), x.shape[1]).index_add(0, owner, x)
        return self.out(pooled / sizes[:, None]).squeeze(1)


def build():
    return MoleculeNet()


def example_inputs():
    ptr = torch.tensor([0, 6, 13, 18, 26])
    return (
        torch.randint(0, 12, (26,)),
        torch.randint(1, 5, (26,)),
        torch.randint(0, 6, (26, 26)),
        ptr,
    )
