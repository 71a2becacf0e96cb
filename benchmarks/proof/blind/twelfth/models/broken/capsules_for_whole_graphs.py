r"""Graph classification with graph convolutions, primary capsules, routing and class capsules.

Source: https://github.com/benedekrozemberczki/CapsGNN/issues/13
Fault: The routing logits have the shape (1, in, units, 1) and their softmax runs over dim 0, which
    has one entry: all couplings are 1 in every iteration and the routing decides nothing.
Cause: softmax.{0,140}(dim(ension)?s? ?=? ?\(?0|axis 0|one (entry|element|value)|single
    |size (of )?(1
    |one)|length (1|one)|wrong|always|all (ones?|1)|constant|equal|no effect|batch)
    |(coupling|routing|c_ij)\w*.{0,100}(always|all|constant|one\b|ones|no effect|1\.0|never)
Place: c_ij|b_ij|softmax|routing|SecondaryCapsuleLayer
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


def squash(s):
    mag_sq = torch.sum(s ** 2, dim=-1, keepdim=True)
    mag = torch.sqrt(mag_sq + 1e-8)
    return (mag_sq / (1.0 + mag_sq)) * (s / mag)


class GCNConv(nn.Module):
    def __init__(self, cin, cout):
        super(GCNConv, self).__init__()
        self.lin = nn.Linear(cin, cout)

    def forward(self, x, adj):
        return adj @ self.lin(x)


class Attention(nn.Module):
    """ 2 layer attention module over the capsules of a graph """

    def __init__(self, attention_size_1, attention_size_2):
        super(Attention, self).__init__()
        self.dense_1 = nn.Linear(attention_size_1, attention_size_2)
        self.dense_2 = nn.Linear(attention_size_2, attention_size_1)

    def forward(self, x_in):
        attention_score_base = torch.relu(self.dense_1(x_in))
        attention_score = F.softmax(self.dense_2(attention_score_base), dim=1)
        return x_in * attention_score * x_in.size(1)


class SecondaryCapsuleLayer(nn.Module):
    def __init__(self, in_units, in_channels, num_units, unit_size):
        super(SecondaryCapsuleLayer, self).__init__()
        self.in_units = in_units
        self.in_channels = in_channels
        self.num_units = num_units
        self.W = nn.Parameter(0.1 * torch.randn(1, in_channels, num_units, unit_size, in_units))

    def forward(self, x):
        batch_size = x.size(0)
        # (batch, in_channels, in_units) -> (batch, in_channels, num_units, in_units, 1)
        x = torch.stack([x] * self.num_units, dim=2).unsqueeze(4)
        W = torch.cat([self.W] * batch_size, dim=0)
        u_hat = torch.matmul(W, x)
        b_ij = torch.zeros(1, self.in_channels, self.num_units, 1)

        num_iterations = 3
        for _ in range(num_iterations):
            c_ij = F.softmax(b_ij, dim=0)  # here
            c_ij = torch.cat([c_ij] * batch_size, dim=0).unsqueeze(4)
            s_j = (c_ij * u_hat).sum(dim=1, keepdim=True)
            v_j = squash(s_j.squeeze(-1)).unsqueeze(-1)
            v_j1 = torch.cat([v_j] * self.in_channels, dim=1)
            u_vj1 = torch.matmul(u_hat.transpose(3, 4), v_j1).squeeze(4).mean(dim=0, keepdim=True)
            b_ij = b_ij + u_vj1
        return v_j.squeeze(1).squeeze(-1)


class CapsGNN(nn.Module):
    def __init__(self, feature_number=6, gcn_filters=8, gcn_layers=2, num_nodes=10,
                 number_of_capsules=6, capsule_dimensions=8, num_classes=3):
        super(CapsGNN, self).__init__()
        self.gcn_layers = gcn_layers
        self.base_layers = nn.ModuleList(
            [GCNConv(feature_number if i == 0 else gcn_filters, gcn_filters)
             for i in range(gcn_layers)])
        self.primary = nn.ModuleList(
            [nn.Linear(gcn_filters * num_nodes, capsule_dimensions)
             for _ in range(gcn_layers * 2)])
        self.attention = Attention(capsule_dimensions, 16)
        self.graph_capsule = SecondaryCapsuleLayer(
            capsule_dimensions, gcn_layers * 2, number_of_capsules, capsule_dimensions)
        self.class_capsule = SecondaryCapsuleLayer(
            capsule_dimensions, number_of_capsules, num_classes, capsule_dimensions)

    def forward(self, features, adj):
        hidden = []
        for layer in self.base_layers:
            features = torch.relu(layer(features, adj))
            hidden.append(features.flatten(1))
        hidden = hidden + hidden
        caps = torch.stack([f(h) for f, h in zip(self.primary, hidden)], dim=1)
        caps = squash(caps)
        rescaled = self.attention(caps)
        graph_caps = self.graph_capsule(rescaled)
        class_caps = self.class_capsule(graph_caps)
        return torch.sqrt((class_caps ** 2).sum(dim=-1) + 1e-8)


def build():
    torch.manual_seed(0)
    return CapsGNN()


def example_inputs():
    torch.manual_seed(1)
    x = torch.rand(5, 10, 6)
    a = (torch.rand(5, 10, 10) < 0.3).float()
    a = ((a + a.transpose(1, 2)) > 0).float() + torch.eye(10)
    a = a.clamp(max=1)
    d = a.sum(-1)
    return x, a / (d[:, :, None] * d[:, None, :]).sqrt()
