r"""Row i of the adjacency holds the neighbours of node i.

Source: https://docs.pytorch.org/docs/stable/generated/torch.sparse.softmax.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SparseGAT(nn.Module):
    """Row i of the adjacency holds the neighbours of node i."""

    def __init__(self, features=5, dim=16, out=3):
        super().__init__()
        self.lin = nn.Linear(features, dim)
        self.att = nn.Linear(2 * dim, 1, bias=False)
        self.out = nn.Linear(dim, out)

    def forward(self, x, edges):
        h = self.lin(x)
        row, col = edges
        e = F.leaky_relu(self.att(torch.cat([h[row], h[col]], dim=1)), 0.2).squeeze(1)
        score = torch.sparse_coo_tensor(edges, e, (x.size(0), x.size(0))).coalesce()
        weight = torch.sparse.softmax(score, dim=1)
        return self.out(F.elu(torch.sparse.mm(weight, h)))


def make_edges(n=10):
    a = (torch.rand(n, n) > 0.6).float()
    return torch.maximum(a, torch.eye(n)).nonzero().T.contiguous()


torch.manual_seed(0)
model = SparseGAT()
example_inputs = (torch.randn(10, 5), make_edges(),)
