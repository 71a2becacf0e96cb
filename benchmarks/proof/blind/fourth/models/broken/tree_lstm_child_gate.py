r"""Tree LSTM that sums the states of children, with a forget gate for each child.

Source: https://github.com/dasguptar/treelstm.pytorch/issues/4
Fault: The layers of the forget gate are declared, but those of the input gate are used for it.
Cause: \bf[xh]\b
Place: \bf[xh]\b
"""

import torch
from torch import nn


class ChildSumTreeLSTM(nn.Module):
    def __init__(self, in_dim, mem_dim):
        super().__init__()
        self.ix, self.ih = nn.Linear(in_dim, mem_dim), nn.Linear(mem_dim, mem_dim)
        self.fx, self.fh = nn.Linear(in_dim, mem_dim), nn.Linear(mem_dim, mem_dim)
        self.ux, self.uh = nn.Linear(in_dim, mem_dim), nn.Linear(mem_dim, mem_dim)
        self.ox, self.oh = nn.Linear(in_dim, mem_dim), nn.Linear(mem_dim, mem_dim)

    def forward(self, x, child_c, child_h):
        h_sum = child_h.sum(1)
        i = torch.sigmoid(self.ix(x) + self.ih(h_sum))
        o = torch.sigmoid(self.ox(x) + self.oh(h_sum))
        u = torch.tanh(self.ux(x) + self.uh(h_sum))
        f = torch.sigmoid(self.ih(child_h) + self.ix(x).unsqueeze(1))  # here
        c = i * u + (f * child_c).sum(1)
        return c, o * torch.tanh(c)


class Similarity(nn.Module):
    def __init__(self, vocab=60, dim=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.tree = ChildSumTreeLSTM(dim, dim)
        self.out = nn.Linear(dim, 5)

    def forward(self, words):
        x = self.emb(words)  # a root with two children that are leaves
        zero = torch.zeros(len(words), 1, x.size(-1))
        leaves = [self.tree(x[:, i], zero, zero) for i in (0, 1)]
        c, h = (torch.stack(parts, 1) for parts in zip(*leaves, strict=True))
        return self.out(self.tree(x[:, 2], c, h)[1])


def build():
    return Similarity()


def example_inputs():
    return torch.randint(0, 60, (8, 3))
