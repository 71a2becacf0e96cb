r"""Graph attention layer for a batch of small dense graphs.

Source: https://github.com/phlippe/uvadlc_notebooks/issues/5
Fault: The flat index of a node is graph * batch_size + node where it must be graph * num_nodes +
    node, so edges read nodes of other graphs.
Cause: (other|wrong|different|another) (graphs?|samples?|nodes?)
    |(mix|leak|depend)\w* .*(samples?|graphs?|batch)|(samples?|batch|graphs?) .*(mix|leak|influence)
    |rows? .*(never|not) (read|used)
Place: edge_indices|rows_of_source|rows_of_target
"""

import torch
import torch.nn.functional as F
from torch import nn


class GraphAttention(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.projection = nn.Linear(c_in, c_out)
        self.a = nn.Parameter(torch.empty(2 * c_out))
        nn.init.normal_(self.a, std=0.3)

    def forward(self, node_feats, adj):
        batch_size, num_nodes = node_feats.shape[:2]
        node_feats = self.projection(node_feats)
        edges = adj.nonzero()
        flat = node_feats.reshape(batch_size * num_nodes, -1)
        rows_of_source = edges[:, 0] * batch_size + edges[:, 1]  # here
        rows_of_target = edges[:, 0] * batch_size + edges[:, 2]  # here
        pairs = torch.cat([flat[rows_of_source], flat[rows_of_target]], dim=-1)
        logits = F.leaky_relu(pairs @ self.a, 0.2)
        scores = adj.new_full(adj.shape, -9e15)
        scores[adj == 1] = logits
        return torch.softmax(scores, dim=2) @ node_feats


class GraphClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = GraphAttention(6, 16)
        self.second = GraphAttention(16, 16)
        self.head = nn.Linear(16, 3)

    def forward(self, nodes, adj):
        hidden = F.elu(self.first(nodes, adj))
        return self.head(F.elu(self.second(hidden, adj)).mean(1))


def build():
    return GraphClassifier()


def example_inputs():
    adj = (torch.rand(4, 7, 7) < 0.4).float()
    adj = ((adj + adj.transpose(1, 2) + torch.eye(7)) > 0).float()
    return torch.randn(4, 7, 6), adj
