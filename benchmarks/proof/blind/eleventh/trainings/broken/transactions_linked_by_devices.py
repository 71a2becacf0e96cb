r"""A graph net that finds frauds among transactions that share devices, with a transductive split.

Source: https://github.com/awslabs/realtime-fraud-detection-with-gnn-on-dgl/pull/728
Fault: the loss of the training loop is taken over all nodes; the labels of the test nodes take part
    in the gradient updates, so the test scores are far too good.
Cause: (test|held.?out|validation|evaluat\w+)\b.*(leak\w*|take part|used|included|contribut\w+
    |enter|trained on|seen|part of|in the (training )?loss)\b
    |(leak\w*)\b.*(test|label|validation|held)
    |(loss|cross.?entropy|gradient|training|backward)\b.*\b(all|every|whole|entire|unmasked
    |test)\b.*(node|label|sample|row|graph)
    |(train_mask|mask)\b.*(not|never|missing|without|ignored|unused|no)\b
    |\b(no|without|missing|never|not)\b.*(train_mask|mask\w*)
Place: loss|train_mask|train_fg|labels
"""
import argparse
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def build_graph(n_users=260, n_devices=90, seed=0):
    rng = np.random.RandomState(seed)
    fraud_device = rng.rand(n_devices) < 0.25
    owner = rng.randint(0, n_devices, (n_users, 2))
    risk = fraud_device[owner].mean(1)
    labels = (rng.rand(n_users) < 0.1 + 0.75 * risk).astype(np.int64)
    adj = np.zeros((n_users, n_users), dtype=np.float32)
    for d in range(n_devices):
        who = np.where((owner == d).any(1))[0]
        adj[np.ix_(who, who)] = 1.0
    np.fill_diagonal(adj, 1.0)
    adj = adj / adj.sum(1, keepdims=True)
    feats = rng.normal(0, 1, (n_users, 64)).astype(np.float32)
    feats[:, 0] += 0.6 * labels
    return torch.from_numpy(adj), torch.from_numpy(feats), torch.from_numpy(labels)


class SageLayer(nn.Module):
    def __init__(self, in_size, out_size):
        super().__init__()
        self.self_loop = nn.Linear(in_size, out_size)
        self.neigh = nn.Linear(in_size, out_size, bias=False)

    def forward(self, adj, h):
        return self.self_loop(h) + self.neigh(adj @ h)


class FraudGNN(nn.Module):
    def __init__(self, in_size, hidden_size, out_size, n_layers, dropout):
        super().__init__()
        sizes = [in_size] + [hidden_size] * n_layers
        self.layers = nn.ModuleList([SageLayer(a, b) for a, b in zip(sizes[:-1], sizes[1:])])
        self.out = nn.Linear(hidden_size, out_size)
        self.dropout = dropout

    def forward(self, adj, x):
        h = x
        for layer in self.layers:
            h = F.leaky_relu(layer(adj, h))
            h = F.dropout(h, self.dropout, self.training)
        return self.out(h)


def get_f1_score(y_true, y_pred):
    tp = int(((y_true == 1) & (y_pred == 1)).sum())
    fp = int(((y_true == 0) & (y_pred == 1)).sum())
    fn = int(((y_true == 1) & (y_pred == 0)).sum())
    precision = tp / max(tp + fp, 1)
    recall = tp / max(tp + fn, 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    return f1, precision, recall


def evaluate(model, adj, features, labels, mask):
    model.eval()
    with torch.no_grad():
        pred = model(adj, features).argmax(1)
    acc = (pred[mask] == labels[mask]).float().mean().item()
    return get_f1_score(labels[mask], pred[mask]), acc


def train_fg(model, optim, loss, features, labels, train_mask, test_mask, adj, n_epochs):
    """
    A full graph version of RGCN training
    """
    duration = []
    for epoch in range(n_epochs):
        tic = time.time()
        model.train()
        pred = model(adj, features)
        l = loss(pred, labels)  # here

        optim.zero_grad()
        l.backward()
        optim.step()

        duration.append(time.time() - tic)
        if epoch % 20 == 0 or epoch == n_epochs - 1:
            (f1, p, r), _ = evaluate(model, adj, features, labels, train_mask)
            print("Epoch {:05d} | Time(s) {:.4f} | train f1 {:.4f} | Loss {:.4f}".format(
                epoch, np.mean(duration), f1, l.item()))
    (f1, p, r), acc = evaluate(model, adj, features, labels, test_mask)
    print("Metrics Test: f1 {:.4f} precision {:.4f} recall {:.4f} acc {:.4f}".format(
        f1, p, r, acc))
    return model, f1


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument('--n-epochs', type=int, default=150)
    parser.add_argument('--n-hidden', type=int, default=32)
    parser.add_argument('--n-layers', type=int, default=2)
    parser.add_argument('--dropout', type=float, default=0.2)
    parser.add_argument('--lr', type=float, default=1e-2)
    parser.add_argument('--weight-decay', type=float, default=5e-4)
    return parser.parse_args()


if __name__ == '__main__':
    args = parse_args()
    torch.manual_seed(0)
    adj, features, labels = build_graph()
    order = torch.randperm(len(labels))
    train_mask = torch.zeros(len(labels), dtype=torch.bool)
    train_mask[order[:120]] = True
    test_mask = ~train_mask

    model = FraudGNN(features.size(1), args.n_hidden, 2, args.n_layers, args.dropout)
    optim = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    loss = nn.CrossEntropyLoss()
    print("Starting Model training")
    train_fg(model, optim, loss, features, labels, train_mask, test_mask, adj, args.n_epochs)
    print("Finished Model training")
