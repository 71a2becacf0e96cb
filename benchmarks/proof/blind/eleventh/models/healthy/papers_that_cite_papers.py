r"""A graph convolution that takes a list of edges or a transposed sparse matrix.

Source: https://github.com/pyg-team/pytorch_geometric/issues/1536
Healthy: for a list of edges the degree is summed over the targets (columns), for the sparse matrix
    over rows; the matrix is the transposed one, so that both are the degree of the same node.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

NODES, CLASSES, FEATURES = 60, 3, 12


def add_remaining_self_loops(edge_index, num_nodes):
    keep = edge_index[0] != edge_index[1]
    loops = torch.arange(num_nodes)
    return torch.cat([edge_index[:, keep], torch.stack([loops, loops])], dim=1)


def gcn_norm(edge_index, num_nodes):
    if edge_index.is_sparse:
        adj_t = edge_index.coalesce()
        deg = torch.sparse.sum(adj_t, dim=1).to_dense()
        deg_inv_sqrt = deg.pow(-0.5)
        deg_inv_sqrt.masked_fill_(deg_inv_sqrt == float('inf'), 0.)
        row, col = adj_t.indices()
        value = deg_inv_sqrt[row] * adj_t.values() * deg_inv_sqrt[col]
        return torch.sparse_coo_tensor(adj_t.indices(), value, adj_t.shape).coalesce()

    edge_index = add_remaining_self_loops(edge_index, num_nodes)
    row, col = edge_index
    deg = torch.zeros(num_nodes).scatter_add_(0, col, torch.ones(col.numel()))
    deg_inv_sqrt = deg.pow(-0.5)
    deg_inv_sqrt.masked_fill_(deg_inv_sqrt == float('inf'), 0.)
    return edge_index, deg_inv_sqrt[row] * deg_inv_sqrt[col]


class GCNConv(nn.Module):
    def __init__(self, in_channels, out_channels, bias=True):
        super().__init__()
        self.lin = nn.Linear(in_channels, out_channels, bias=False)
        if bias:
            self.bias = nn.Parameter(torch.empty(out_channels))
        else:
            self.register_parameter('bias', None)
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.xavier_uniform_(self.lin.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x, edge_index):
        x = self.lin(x)
        normed = gcn_norm(edge_index, x.size(0))
        if isinstance(normed, tuple):
            (row, col), weight = normed
            out = torch.zeros_like(x).index_add_(0, col, weight.unsqueeze(1) * x[row])
        else:
            out = torch.sparse.mm(normed, x)
        return out if self.bias is None else out + self.bias


class Net(nn.Module):
    def __init__(self, hidden=16, dropout=0.5):
        super().__init__()
        self.conv1 = GCNConv(FEATURES, hidden)
        self.conv2 = GCNConv(hidden, CLASSES)
        self.dropout = dropout

    def forward(self, x, edge_index):
        x = F.dropout(x, self.dropout, training=self.training)
        x = F.relu(self.conv1(x, edge_index))
        x = F.dropout(x, self.dropout, training=self.training)
        x = self.conv2(x, edge_index)
        return F.log_softmax(x, dim=1)


def make_citations(seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.arange(NODES) % CLASSES
    same = (y[:, None] == y[None, :]).float()
    adj = torch.rand(NODES, NODES, generator=g) < 0.12 * same + 0.01 * (1 - same)
    adj = adj.triu(1)
    adj = adj | adj.t()
    topic = torch.randn(CLASSES, FEATURES, generator=g)
    x = 0.5 * topic[y] + torch.randn(NODES, FEATURES, generator=g)
    train_mask = torch.zeros(NODES, dtype=torch.bool)
    train_mask[:24] = True
    return x, adj.nonzero().t().contiguous(), y, train_mask


def to_sparse_t(edge_index, num_nodes=NODES):
    row, col = add_remaining_self_loops(edge_index, num_nodes)
    return torch.sparse_coo_tensor(torch.stack([col, row]), torch.ones(row.numel()),
                                   (num_nodes, num_nodes)).coalesce()


def build():
    torch.manual_seed(0)
    return Net()


def example_inputs():
    x, edge_index, _, _ = make_citations()
    return x, edge_index
