r"""Graph attention over a list of edges.

Source: https://github.com/pyg-team/pytorch_geometric/blob/master/torch_geometric/nn/conv/gat_conv.py
Odd: Rows of the input influence each other, and the softmax is built from scatters by target node.
"""

import torch
from torch import nn
from torch.nn import functional as F


def softmax_by_index(src, index, num_nodes):
    shape = (num_nodes, *src.shape[1:])
    expanded = index[:, None].expand_as(src)
    top = src.new_full(shape, -torch.inf).scatter_reduce(0, expanded, src.detach(), "amax")
    out = (src - top[index]).exp()
    total = src.new_zeros(shape).scatter_add(0, expanded, out)
    return out / (total[index] + 1e-16)


class GATConv(nn.Module):
    def __init__(self, n_in, n_out, heads):
        super().__init__()
        self.heads, self.n_out = heads, n_out
        self.lin = nn.Linear(n_in, heads * n_out, bias=False)
        self.att_src = nn.Parameter(torch.empty(1, heads, n_out))
        self.att_dst = nn.Parameter(torch.empty(1, heads, n_out))
        self.bias = nn.Parameter(torch.zeros(heads * n_out))
        for p in (self.lin.weight, self.att_src, self.att_dst):
            nn.init.xavier_uniform_(p)

    def forward(self, x, edge_index):
        source, target = edge_index
        h = self.lin(x).view(-1, self.heads, self.n_out)
        score = (h * self.att_src).sum(-1)[source] + (h * self.att_dst).sum(-1)[target]
        alpha = softmax_by_index(F.leaky_relu(score, 0.2), target, len(x))
        out = torch.zeros_like(h).index_add(0, target, h[source] * alpha[..., None])
        return out.flatten(1) + self.bias


class GAT(nn.Module):
    def __init__(self, features=12, classes=4):
        super().__init__()
        self.conv1 = GATConv(features, 8, heads=4)
        self.conv2 = GATConv(32, classes, heads=1)

    def forward(self, x, edge_index):
        x = F.dropout(x, 0.3, self.training)
        x = F.elu(self.conv1(x, edge_index))
        return self.conv2(F.dropout(x, 0.3, self.training), edge_index)


def build():
    return GAT()


def example_inputs():
    loops = torch.arange(20).repeat(2, 1)
    return torch.randn(20, 12), torch.cat([torch.randint(0, 20, (2, 60)), loops], dim=1)
