r"""Attention over citing and cited papers with several heads on a list of edges.

Source: https://github.com/pyg-team/pytorch_geometric/issues/1642
Fault: The scores of the two ends of an edge come from the same vector, so citing and cited node
    count alike and the second vector is never used.
Cause: (same|one|single|shared?|identical).{0,60}(vector|att\w*|parameter|score|weight)
    |att_r.{0,80}(un-?used|never|not used|no grad\w*|ignored|dead)|(never|un-?used
    |not used).{0,40}att_r|symmetric\w*|(source|target|left|right|sender|receiver
    |end)s?.{0,100}(same|alike|shared?|identical|not distinguish\w*)|alpha_[lr].{0,80}(same
    |att_l|alias\w*)
Place: att_[lr]|alpha_[lr]|forward|alpha
"""

import torch
import torch.nn.functional as F
from torch import nn


def softmax_per_target(scores, target, nodes):
    index = target[:, None].expand_as(scores)
    top = scores.new_full((nodes, scores.size(1)), -1e30)
    top = top.scatter_reduce(0, index, scores.detach(), "amax")
    weights = (scores - top[target]).exp()
    total = weights.new_zeros(nodes, scores.size(1)).index_add(0, target, weights)
    return weights / (total[target] + 1e-16)


class Attention(nn.Module):
    def __init__(self, inputs, outputs, heads, concat=True, dropout=0.3):
        super().__init__()
        self.heads, self.outputs, self.concat, self.dropout = heads, outputs, concat, dropout
        self.lin = nn.Linear(inputs, heads * outputs, bias=False)
        self.att_l = nn.Parameter(torch.empty(1, heads, outputs))
        self.att_r = nn.Parameter(torch.empty(1, heads, outputs))
        self.bias = nn.Parameter(torch.zeros(heads * outputs if concat else outputs))
        for weight in (self.lin.weight, self.att_l, self.att_r):
            nn.init.xavier_uniform_(weight)

    def forward(self, x, edges):
        source, target = edges
        x = self.lin(x).view(-1, self.heads, self.outputs)
        alpha_l = alpha_r = (x * self.att_l).sum(-1)  # here
        scores = F.leaky_relu(alpha_l[source] + alpha_r[target], 0.2)
        alpha = softmax_per_target(scores, target, len(x))
        alpha = F.dropout(alpha, self.dropout, self.training)
        out = torch.zeros_like(x).index_add(0, target, alpha[:, :, None] * x[source])
        out = out.flatten(1) if self.concat else out.mean(1)
        return out + self.bias


class Papers(nn.Module):
    def __init__(self, words=100, hidden=8, topics=7):
        super().__init__()
        self.first = Attention(words, hidden, heads=4)
        self.second = Attention(4 * hidden, topics, heads=1, concat=False)

    def forward(self, x, edges):
        loops = torch.arange(len(x), device=x.device).expand(2, -1)
        edges = torch.cat([edges, loops], 1)
        x = F.elu(self.first(x, edges))
        return self.second(x, edges).log_softmax(1)


def build():
    return Papers()


def example_inputs():
    return torch.rand(30, 100), torch.randint(0, 30, (2, 120))
