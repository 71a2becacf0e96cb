r"""The model `MeshModel`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.index_add_.html
Fault: out[index] += value keeps only one value for a repeated index, while a sum over all of them
    is meant (index_add).
Cause: duplicat|repeat\w* ind|index_add|scatter_add|accumul
    |(last|one|only|single).*(kept|wins|written|value|edge|message)|overwr\w*|lost|drop\w*
"""

import torch
import torch.nn as nn


class MeshSmoother(nn.Module):
    def __init__(self, dim=3, hidden=24):
        super().__init__()
        self.edge = nn.Sequential(nn.Linear(2 * dim, hidden), nn.SiLU(), nn.Linear(hidden, dim))
        self.node = nn.Linear(2 * dim, dim)

    def forward(self, pos, edges):
        src, dst = edges
        force = self.edge(torch.cat([pos[src], pos[dst] - pos[src]], dim=-1))
        total = torch.zeros_like(pos)
        total[dst] += force
        return pos + self.node(torch.cat([pos, total], dim=-1))


class MeshModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = MeshSmoother()

    def forward(self, pos, edges):
        return self.step(pos, edges)


torch.manual_seed(0)
model = MeshModel()
example_inputs = (torch.randn(10, 3), torch.randint(0, 10, (2, 36)),)
