r"""A graph classifier from a collection of graph networks: GCN layers, a readout and two linears.

Source: https://github.com/qbxlvnf11/graph-neural-networks-for-graph-classification/pull/3
Fault: The graph convolutions are appended to a plain Python list, so the module does not register
    them; parameters() holds only the two fully connected layers and the convolutions stay as they
    were drawn at random.
Cause: (plain|python|ordinary|bare|normal|regular|simple|mere)[ -]+lists?\b|ModuleList
    |(not|never|n't|un)[ -]?(been |be |get )?registered|hidden from .{0,30}(module|parameters)
    |(not|never|missing|absent) .{0,25}(parameters\(\)|state_dict)|kept in a list
Place: graph_conv|layers|GraphConvolution|GCN
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def normalize_adjacency(adj):
    deg = adj.sum(dim=-1)
    d_inv_sqrt = deg.clamp(min=1e-6).pow(-0.5)
    return d_inv_sqrt.unsqueeze(-1) * adj * d_inv_sqrt.unsqueeze(-2)


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super(GraphConvolution, self).__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = nn.Parameter(torch.FloatTensor(in_features, out_features))
        if bias:
            self.bias = nn.Parameter(torch.FloatTensor(out_features))
        else:
            self.register_parameter('bias', None)
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1. / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-stdv, stdv)
        if self.bias is not None:
            self.bias.data.uniform_(-stdv, stdv)

    def forward(self, x, adj):
        support = torch.matmul(x, self.weight)
        output = torch.matmul(adj, support)
        if self.bias is not None:
            return output + self.bias
        return output


class Readout(nn.Module):
    def __init__(self, name='avg'):
        super(Readout, self).__init__()
        self.name = name

    def forward(self, x):
        if self.name == 'max':
            return torch.max(x, dim=1)[0].squeeze()
        elif self.name == 'avg':
            return torch.mean(x, dim=1)
        elif self.name == 'sum':
            return torch.sum(x, dim=1)


class GCN(nn.Module):
    def __init__(self, n_feat, n_class, n_layer, agg_hidden, fc_hidden, dropout, readout):
        super(GCN, self).__init__()
        self.n_layer = n_layer
        self.dropout = dropout
        self.readout = Readout(readout)

        # Graph convolution layers
        self.graph_convolution_layers = []  # here
        for i in range(n_layer):
            if i == 0:
                self.graph_convolution_layers.append(GraphConvolution(n_feat, agg_hidden))
            else:
                self.graph_convolution_layers.append(GraphConvolution(agg_hidden, agg_hidden))

        # Fully-connected layers
        self.fc1 = nn.Linear(agg_hidden, fc_hidden)
        self.fc2 = nn.Linear(fc_hidden, n_class)

    def forward(self, x, adj):
        adj = normalize_adjacency(adj)
        for i in range(self.n_layer):
            x = F.relu(self.graph_convolution_layers[i](x, adj))
            if i != self.n_layer - 1:
                x = F.dropout(x, p=self.dropout, training=self.training)
        x = self.readout(x)
        x = F.relu(self.fc1(x))
        x = self.fc2(x)
        return F.log_softmax(x, dim=-1)


def build():
    torch.manual_seed(0)
    return GCN(n_feat=7, n_class=2, n_layer=2, agg_hidden=32, fc_hidden=64, dropout=0.3,
               readout='avg')


def example_inputs():
    torch.manual_seed(1)
    x = F.one_hot(torch.randint(0, 7, (6, 12)), 7).float()
    adj = (torch.rand(6, 12, 12) < 0.25).float()
    adj = ((adj + adj.transpose(1, 2)) > 0).float()
    adj = adj + torch.eye(12)
    return x, adj.clamp(max=1.0)
