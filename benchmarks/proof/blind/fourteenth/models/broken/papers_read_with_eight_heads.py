r"""A port of the graph attention network to PyTorch, that sorts papers by words and citations.

Source: https://github.com/PetarV-/GAT/issues/11
Fault: where the widths agree, the residual of a head is added into the name seq_fts, which nobody
    reads afterwards; the layer returns the values without it, so the residual connection that
    was asked for does nothing.
Cause: (residual|skip|shortcut|identity).{0,120}(unused|never|not|ignored|no effect|discard|lost
    |dropped|wrong (name|variable)|seq_fts|nothing|dead|overwritten|without|thrown)
    |seq_fts.{0,80}(unused|never|not|wrong|instead|ret|discard|assigned|dead)
    |(result|sum|value|assign).{0,60}(unused|never (read|used)|discard|thrown|dead|wrong (name
    |variable))
Place: seq_fts|ret|residual|AttnHead|forward
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class AttnHead(nn.Module):
    def __init__(self, in_sz, out_sz, activation, in_drop=0.0, coef_drop=0.0, residual=False):
        super().__init__()
        self.in_drop = in_drop
        self.coef_drop = coef_drop
        self.activation = activation
        self.residual = residual
        self.conv_seq = nn.Conv1d(in_sz, out_sz, 1, bias=False)
        # simplest self-attention possible
        self.conv_f1 = nn.Conv1d(out_sz, 1, 1)
        self.conv_f2 = nn.Conv1d(out_sz, 1, 1)
        self.bias = nn.Parameter(torch.zeros(out_sz))
        if residual and in_sz != out_sz:
            self.conv_res = nn.Conv1d(in_sz, out_sz, 1)

    def forward(self, seq, bias_mat):
        # seq: batch x nodes x features
        seq_drop = F.dropout(seq, self.in_drop, training=self.training)

        seq_fts = self.conv_seq(seq_drop.transpose(1, 2))

        f_1 = self.conv_f1(seq_fts).transpose(1, 2)
        f_2 = self.conv_f2(seq_fts).transpose(1, 2)
        logits = f_1 + f_2.transpose(1, 2)
        coefs = F.softmax(F.leaky_relu(logits, 0.2) + bias_mat, dim=-1)

        coefs = F.dropout(coefs, self.coef_drop, training=self.training)
        seq_fts = seq_fts.transpose(1, 2)
        seq_fts = F.dropout(seq_fts, self.in_drop, training=self.training)

        vals = torch.matmul(coefs, seq_fts)
        ret = vals + self.bias

        # residual connection
        if self.residual:
            if seq.shape[-1] != ret.shape[-1]:
                ret = ret + self.conv_res(seq.transpose(1, 2)).transpose(1, 2)
            else:
                seq_fts = ret + seq  # here

        return self.activation(ret)  # activation


class GAT(nn.Module):
    def __init__(self, ft_size, nb_classes, hid_units, n_heads, activation=F.elu, residual=False,
                 attn_drop=0.0, ffd_drop=0.0):
        super().__init__()
        layers = [nn.ModuleList([
            AttnHead(ft_size, hid_units[0], activation, ffd_drop, attn_drop, residual=False)
            for _ in range(n_heads[0])])]
        for i in range(1, len(hid_units)):
            width = hid_units[i - 1] * n_heads[i - 1]
            layers.append(nn.ModuleList([
                AttnHead(width, hid_units[i], activation, ffd_drop, attn_drop,
                         residual=residual)
                for _ in range(n_heads[i])]))
        self.layers = nn.ModuleList(layers)
        self.out = nn.ModuleList([
            AttnHead(hid_units[-1] * n_heads[-2], nb_classes, lambda x: x, ffd_drop, attn_drop,
                     residual=False)
            for _ in range(n_heads[-1])])

    def forward(self, inputs, bias_mat):
        h_1 = inputs
        for heads in self.layers:
            h_1 = torch.cat([head(h_1, bias_mat) for head in heads], dim=-1)
        out = [head(h_1, bias_mat) for head in self.out]
        logits = sum(out) / len(out)
        return logits


def adj_to_bias(adj, sizes, nhood=1):
    nb_graphs = adj.shape[0]
    mt = torch.zeros_like(adj)
    for g in range(nb_graphs):
        mt[g] = torch.eye(adj.shape[1])
        for _ in range(nhood):
            mt[g] = torch.matmul(mt[g], adj[g] + torch.eye(adj.shape[1]))
        for i in range(sizes[g]):
            for j in range(sizes[g]):
                if mt[g][i][j] > 0.0:
                    mt[g][i][j] = 1.0
    return -1e9 * (1.0 - mt)


def build():
    torch.manual_seed(0)
    # hid_units: numbers of hidden units per each attention head in each layer
    # n_heads: additional entry for the output layer
    return GAT(40, 4, hid_units=[32, 32], n_heads=[1, 1, 1], residual=True, attn_drop=0.2,
               ffd_drop=0.2)


def example_inputs():
    torch.manual_seed(1)
    nodes = 48
    labels = torch.arange(nodes) % 4
    words = torch.rand(4, 40)
    features = (torch.rand(nodes, 40) < 0.4 * words[labels]).float()
    same = (labels[:, None] == labels[None, :]).float()
    adj = (torch.rand(nodes, nodes) < 0.15 * same + 0.01).float()
    adj = ((adj + adj.t()) > 0).float()
    return features.unsqueeze(0), adj_to_bias(adj.unsqueeze(0), [nodes])
