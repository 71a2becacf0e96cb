r"""The official graph attention example on a small made citation graph, with patience and best
loss.

Source: https://github.com/pytorch/examples/blob/main/gat/main.py
Healthy: log_softmax is inside the model and goes with NLLLoss, every epoch is one batch of the
    whole graph and non-edges get -9e16 before the softmax; none of it is a fault, the net learns.
"""
import argparse
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import Adam


class GraphAttentionLayer(nn.Module):
    def __init__(self, in_features, out_features, n_heads, concat=False, dropout=0.4,
                 leaky_relu_slope=0.2):
        super(GraphAttentionLayer, self).__init__()
        self.n_heads = n_heads
        self.concat = concat
        self.dropout = dropout
        if concat:
            self.out_features = out_features
            assert out_features % n_heads == 0
            self.n_hidden = out_features // n_heads
        else:
            self.n_hidden = out_features

        self.W = nn.Parameter(torch.empty(size=(in_features, self.n_hidden * n_heads)))
        self.a = nn.Parameter(torch.empty(size=(n_heads, 2 * self.n_hidden, 1)))
        self.leakyrelu = nn.LeakyReLU(leaky_relu_slope)
        self.softmax = nn.Softmax(dim=1)
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.xavier_normal_(self.W)
        nn.init.xavier_normal_(self.a)

    def _get_attention_scores(self, h_transformed):
        source_scores = torch.matmul(h_transformed, self.a[:, :self.n_hidden, :])
        target_scores = torch.matmul(h_transformed, self.a[:, self.n_hidden:, :])
        # (n_heads, n_nodes, 1) + (n_heads, 1, n_nodes)
        e = source_scores + target_scores.mT
        return self.leakyrelu(e)

    def forward(self, h, adj_mat):
        n_nodes = h.shape[0]
        h_transformed = torch.mm(h, self.W)
        h_transformed = F.dropout(h_transformed, self.dropout, training=self.training)
        h_transformed = h_transformed.view(n_nodes, self.n_heads, self.n_hidden).permute(1, 0, 2)

        e = self._get_attention_scores(h_transformed)
        connectivity_mask = -9e16 * torch.ones_like(e)
        e = torch.where(adj_mat > 0, e, connectivity_mask)

        # attention coefficients: rows sum up to one over the neighbours
        attention = F.softmax(e, dim=-1)
        attention = F.dropout(attention, self.dropout, training=self.training)
        h_prime = torch.matmul(attention, h_transformed)

        if self.concat:
            h_prime = h_prime.permute(1, 0, 2).contiguous().view(n_nodes, self.out_features)
        else:
            h_prime = h_prime.mean(dim=0)
        return h_prime


class GAT(nn.Module):
    def __init__(self, in_features, n_hidden, n_heads, num_classes, concat, dropout,
                 leaky_relu_slope):
        super(GAT, self).__init__()
        self.gat1 = GraphAttentionLayer(in_features, n_hidden, n_heads, concat, dropout,
                                        leaky_relu_slope)
        self.gat2 = GraphAttentionLayer(n_hidden, num_classes, 1, False, dropout,
                                        leaky_relu_slope)

    def forward(self, input_tensor, adj_mat):
        x = self.gat1(input_tensor, adj_mat)
        x = F.elu(x)
        x = self.gat2(x, adj_mat)
        return F.log_softmax(x, dim=1)


def load_papers(n=300, k=5, words=120, seed=3):
    rng = np.random.RandomState(seed)
    y = rng.randint(0, k, n)
    topic = rng.rand(k, words) < 0.12
    x = (rng.rand(n, words) < 0.03 + 0.12 * topic[y]).astype(np.float32)
    x = x / np.maximum(x.sum(1, keepdims=True), 1)
    p = np.where(y[:, None] == y[None, :], 0.03, 0.003)
    adj = np.triu(rng.rand(n, n) < p, 1)
    adj = (adj | adj.T | np.eye(n, dtype=bool)).astype(np.float32)
    return torch.from_numpy(x), torch.from_numpy(y), torch.from_numpy(adj)


def train_iter(epoch, model, optimizer, criterion, input, target, mask_train, mask_val,
               print_every=20):
    start_t = time.time()
    model.train()
    optimizer.zero_grad()

    output = model(*input)
    loss = criterion(output[mask_train], target[mask_train])
    loss.backward()
    optimizer.step()

    loss_train, acc_train = test(model, criterion, input, target, mask_train)
    loss_val, acc_val = test(model, criterion, input, target, mask_val)
    if epoch % print_every == 0:
        print(f'Epoch: {epoch:04d} ({(time.time() - start_t):.4f}s) loss_train: {loss_train:.4f} '
              f'acc_train: {acc_train:.4f} loss_val: {loss_val:.4f} acc_val: {acc_val:.4f}')
    return loss_val


def test(model, criterion, input, target, mask):
    model.eval()
    with torch.no_grad():
        output = model(*input)
        output, target = output[mask], target[mask]
        loss = criterion(output, target)
        acc = (output.argmax(dim=1) == target).float().sum() / len(target)
    return loss.item(), acc.item()


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description='PyTorch Graph Attention Network')
    parser.add_argument('--epochs', type=int, default=150)
    parser.add_argument('--lr', type=float, default=0.01)
    parser.add_argument('--l2', type=float, default=6e-4)
    parser.add_argument('--dropout-p', type=float, default=0.4)
    parser.add_argument('--hidden-dim', type=int, default=32)
    parser.add_argument('--num-heads', type=int, default=4)
    parser.add_argument('--patience', type=int, default=40)
    parser.add_argument('--seed', type=int, default=13)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    features, labels, adj_mat = load_papers()
    idx = torch.randperm(len(labels))
    idx_test, idx_val, idx_train = idx[:120], idx[120:180], idx[180:]

    gat_net = GAT(features.shape[1], args.hidden_dim, args.num_heads, int(labels.max()) + 1,
                  concat=True, dropout=args.dropout_p, leaky_relu_slope=0.2)
    optimizer = Adam(gat_net.parameters(), lr=args.lr, weight_decay=args.l2)
    criterion = nn.NLLLoss()

    best, waited = float('inf'), 0
    for epoch in range(args.epochs):
        loss_val = train_iter(epoch + 1, gat_net, optimizer, criterion, (features, adj_mat),
                              labels, idx_train, idx_val)
        if loss_val < best:
            best, waited = loss_val, 0
        else:
            waited += 1
            if waited >= args.patience:
                break
    loss_test, acc_test = test(gat_net, criterion, (features, adj_mat), labels, idx_test)
    print(f'Test set results: loss {loss_test:.4f} accuracy {acc_test:.4f}')
