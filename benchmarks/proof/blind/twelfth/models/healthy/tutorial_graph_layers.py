r"""Graph convolution and graph attention layers of a university notebook, used for node classes.

Source: https://github.com/phlippe/uvadlc_notebooks/issues/147
Healthy: The GCN layer has no activation inside, though the formula above it has one; the model
    applies ReLU and dropout between the layers, so nothing is missing.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class GCNLayer(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.projection = nn.Linear(c_in, c_out)

    def forward(self, node_feats, adj_matrix):
        """
        Inputs:
            node_feats - Tensor with node features of shape [batch_size, num_nodes, c_in]
            adj_matrix - Batch of adjacency matrices of the graph with identity connections.
        """
        # Num neighbours = number of incoming edges
        num_neighbours = adj_matrix.sum(dim=-1, keepdims=True)
        node_feats = self.projection(node_feats)
        node_feats = torch.bmm(adj_matrix, node_feats)
        node_feats = node_feats / num_neighbours
        return node_feats


class GATLayer(nn.Module):
    def __init__(self, c_in, c_out, num_heads=1, concat_heads=True, alpha=0.2):
        super().__init__()
        self.num_heads = num_heads
        self.concat_heads = concat_heads
        if self.concat_heads:
            assert c_out % num_heads == 0
            c_out = c_out // num_heads
        self.projection = nn.Linear(c_in, c_out * num_heads)
        self.a = nn.Parameter(torch.Tensor(num_heads, 2 * c_out))
        self.leakyrelu = nn.LeakyReLU(alpha)
        nn.init.xavier_uniform_(self.projection.weight.data, gain=1.414)
        nn.init.xavier_uniform_(self.a.data, gain=1.414)

    def forward(self, node_feats, adj_matrix):
        batch_size, num_nodes = node_feats.size(0), node_feats.size(1)
        node_feats = self.projection(node_feats)
        node_feats = node_feats.view(batch_size, num_nodes, self.num_heads, -1)

        edges = adj_matrix.nonzero(as_tuple=False)
        node_feats_flat = node_feats.view(batch_size * num_nodes, self.num_heads, -1)
        edge_indices_row = edges[:, 0] * num_nodes + edges[:, 1]
        edge_indices_col = edges[:, 0] * num_nodes + edges[:, 2]
        a_input = torch.cat([
            torch.index_select(input=node_feats_flat, index=edge_indices_row, dim=0),
            torch.index_select(input=node_feats_flat, index=edge_indices_col, dim=0)
        ], dim=-1)

        attn_logits = torch.einsum('bhc,hc->bh', a_input, self.a)
        attn_logits = self.leakyrelu(attn_logits)

        attn_matrix = attn_logits.new_zeros(adj_matrix.shape + (self.num_heads,)).fill_(-9e15)
        attn_matrix[adj_matrix[..., None].repeat(1, 1, 1, self.num_heads) == 1] = \
            attn_logits.reshape(-1)
        attn_probs = F.softmax(attn_matrix, dim=2)
        node_feats = torch.einsum('bijh,bjhc->bihc', attn_probs, node_feats)
        if self.concat_heads:
            node_feats = node_feats.reshape(batch_size, num_nodes, -1)
        else:
            node_feats = node_feats.mean(dim=2)
        return node_feats


class GNNModel(nn.Module):
    def __init__(self, c_in, c_hidden, c_out, num_layers=2, layer_name="GCN", dp_rate=0.1):
        super().__init__()
        gnn_layer = GCNLayer if layer_name == "GCN" else GATLayer
        layers = []
        in_channels, out_channels = c_in, c_hidden
        for l_idx in range(num_layers - 1):
            layers += [
                gnn_layer(in_channels, out_channels),
                nn.ReLU(inplace=True),
                nn.Dropout(dp_rate)
            ]
            in_channels = c_hidden
        layers += [gnn_layer(in_channels, c_out)]
        self.layers = nn.ModuleList(layers)

    def forward(self, x, adj):
        for l in self.layers:
            if isinstance(l, (GCNLayer, GATLayer)):
                x = l(x, adj)
            else:
                x = l(x)
        return x


class NodeModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.gcn = GNNModel(8, 32, 32, num_layers=2, layer_name="GCN")
        self.gat = GNNModel(32, 32, 4, num_layers=2, layer_name="GAT")

    def forward(self, x, adj):
        return self.gat(F.relu(self.gcn(x, adj)), adj)


def build():
    torch.manual_seed(42)
    return NodeModel()


def example_inputs():
    torch.manual_seed(1)
    block = torch.arange(16) % 4
    same = block[:, None] == block[None, :]
    p = torch.where(same, torch.tensor(0.6), torch.tensor(0.08))
    adj = (torch.rand(2, 16, 16) < p).float()
    adj = ((adj + adj.transpose(1, 2)) > 0).float()
    adj = ((adj + torch.eye(16)) > 0).float()
    x = torch.nn.functional.one_hot(block, 8).float() + 0.5 * torch.randn(2, 16, 8)
    return x, adj
