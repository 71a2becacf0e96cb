r"""Graph convolution that sorts scientific papers by their words and citations.

Source: https://github.com/pyg-team/pytorch_geometric/issues/48
Fault: The degrees are counted before the self-loops are added, so the normalised weights do not
    fit the graph with loops.
Cause: degrees?.{0,120}(before|without|ignor\w+|exclud\w*|omit\w*|not (includ|count)\w*
    |lack\w*|original|miss\w*).{0,60}|self.?loops?.{0,120}(after|degree|not (includ|count
    |normali)\w*)|normali[sz]\w*.{0,80}(before|without|wrong|order).{0,60}(self.?loop|identity
    |degree|loop)|(A ?\+ ?I|identity|loops).{0,60}(after|degree)
Place: degree|\bdeg\w*|norm\w*|adjacency|\badj\b|loops?|propagate
"""

import torch
import torch.nn.functional as F
from torch import nn


def propagation(edges, nodes):
    source, target = edges
    degree = torch.zeros(nodes).index_add_(0, target, torch.ones(edges.size(1)))  # here
    loops = torch.arange(nodes)
    source, target = torch.cat([source, loops]), torch.cat([target, loops])
    inverse = degree.clamp(min=1).rsqrt()
    weight = inverse[source] * inverse[target]
    return source, target, weight


class GraphConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, graph):
        source, target, weight = graph
        x = x @ self.weight
        messages = weight[:, None] * x[source]
        return torch.zeros_like(x).index_add(0, target, messages) + self.bias


class Citations(nn.Module):
    def __init__(self, words=100, hidden=16, topics=7):
        super().__init__()
        self.first, self.second = GraphConv(words, hidden), GraphConv(hidden, topics)

    def forward(self, x, edges):
        graph = propagation(edges, x.size(0))
        x = F.dropout(x, 0.5, self.training)
        x = F.relu(self.first(x, graph))
        x = F.dropout(x, 0.5, self.training)
        return self.second(x, graph).log_softmax(1)


def build():
    return Citations()


def example_inputs():
    one, two = torch.randint(0, 30, (2, 60))
    edges = torch.stack([torch.cat([one, two]), torch.cat([two, one])])
    return (torch.rand(30, 100) > 0.9).float(), edges
