r"""Graph convolution by message passing on a made-up graph of papers with few labels.

Source: https://github.com/sufeidechabei/graphnets_gcn/issues/1
Fault: the messages of the neighbours are only summed, the adjacency is not normalised by the
    degrees; papers that are cited by hundreds get features hundreds of times larger than others
    and the accuracy is far below what the graph allows.
Cause: (adjacen\w*|degree|message|neighbou?r|aggregat\w*|graph|sum\w*).{0,140}(normali[sz]|divid
    |averag|\bmean\b|degree|scale)|(normali[sz]|divid|averag)\w*.{0,100}(adjacen|degree|neighbou?r
    |message|aggregat)
Place: adj|message|aggregate|NodeApply|GCNLayer|forward|update_all|graph
"""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Graph:
    def __init__(self, num_nodes, src, dst):
        self.num_nodes = num_nodes
        self.src = src
        self.dst = dst
        self.ndata = {}

    def update_all(self, message_func, reduce_func):
        m = message_func(self.ndata["h"][self.src])
        self.ndata["h"] = reduce_func(m, self.dst, self.num_nodes)


def gcn_msg(src_h):
    return src_h


def gcn_reduce(msgs, dst, num_nodes):
    out = msgs.new_zeros(num_nodes, msgs.size(1))
    return out.index_add(0, dst, msgs)  # here


class NodeApplyModule(nn.Module):
    def __init__(self, in_feats, out_feats, activation=None):
        super(NodeApplyModule, self).__init__()
        self.linear = nn.Linear(in_feats, out_feats)
        self.activation = activation

    def forward(self, h):
        h = self.linear(h)
        if self.activation:
            h = self.activation(h)
        return h


class GCN(nn.Module):
    def __init__(self, g, in_feats, n_hidden, n_classes, n_layers, activation, dropout):
        super(GCN, self).__init__()
        self.g = g
        self.dropout = dropout
        self.layers = nn.ModuleList()
        self.layers.append(NodeApplyModule(in_feats, n_hidden, activation))
        for i in range(n_layers - 1):
            self.layers.append(NodeApplyModule(n_hidden, n_hidden, activation))
        self.layers.append(NodeApplyModule(n_hidden, n_classes))

    def forward(self, features):
        self.g.ndata["h"] = features
        for idx, layer in enumerate(self.layers):
            if idx > 0 and self.dropout:
                self.g.ndata["h"] = F.dropout(self.g.ndata["h"], self.dropout, self.training)
            self.g.update_all(gcn_msg, gcn_reduce)
            self.g.ndata["h"] = layer(self.g.ndata["h"])
        return self.g.ndata["h"]


def load_data(seed=0, n=900, n_classes=6, words=120):
    rng = np.random.RandomState(seed)
    labels = rng.randint(n_classes, size=n)
    fame = rng.pareto(1.1, size=n) + 1
    src, dst = list(range(n)), list(range(n))
    for i in range(n):
        for _ in range(4):
            if rng.rand() < 0.85:
                pool = np.where(labels == labels[i])[0]
            else:
                pool = np.arange(n)
            j = rng.choice(pool, p=fame[pool] / fame[pool].sum())
            if i != j:
                src += [i, j]
                dst += [j, i]
    topic = rng.rand(n_classes, words) ** 6
    feats = (rng.rand(n, words) < 0.02 + 0.12 * topic[labels]).astype(np.float32)
    idx = rng.permutation(n)
    train_mask = np.zeros(n, dtype=bool)
    train_mask[idx[:120]] = True
    test_mask = np.zeros(n, dtype=bool)
    test_mask[idx[300:]] = True
    graph = Graph(n, torch.tensor(src), torch.tensor(dst))
    return (graph, torch.tensor(feats), torch.tensor(labels), torch.tensor(train_mask),
            torch.tensor(test_mask), n_classes)


def evaluate(model, features, labels, mask):
    model.eval()
    with torch.no_grad():
        logits = model(features)[mask]
        return (logits.argmax(1) == labels[mask]).float().mean().item()


def main(args):
    torch.manual_seed(0)
    g, features, labels, train_mask, test_mask, n_classes = load_data()
    print("nodes", g.num_nodes, "edges", len(g.src))
    model = GCN(g, features.size(1), args.n_hidden, n_classes, args.n_layers, F.relu, args.dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=5e-4)
    for epoch in range(args.n_epochs):
        model.train()
        logits = model(features)
        loss = F.cross_entropy(logits[train_mask], labels[train_mask])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 20 == 19:
            acc = evaluate(model, features, labels, test_mask)
            print("Epoch {:05d} | Loss {:.4f} | Test accuracy {:.4f}".format(
                epoch, loss.item(), acc))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="GCN")
    parser.add_argument("--dropout", type=float, default=0.5)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--n-epochs", type=int, default=100)
    parser.add_argument("--n-hidden", type=int, default=16)
    parser.add_argument("--n-layers", type=int, default=2)
    main(parser.parse_args())
