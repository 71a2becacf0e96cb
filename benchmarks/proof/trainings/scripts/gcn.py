"""In the style of pytorch/examples/gcn: a full batch, evaluated after each epoch."""

import json

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import Adam


class GraphConv(nn.Module):
    def __init__(self, input_dim, output_dim, use_bias=False):
        super().__init__()
        self.kernel = nn.Parameter(torch.empty(input_dim, output_dim))
        nn.init.xavier_normal_(self.kernel)
        self.bias = None
        if use_bias:
            self.bias = nn.Parameter(torch.zeros(output_dim))

    def forward(self, input_tensor, adj_mat):
        output = torch.mm(adj_mat, torch.mm(input_tensor, self.kernel))
        return output + self.bias if self.bias is not None else output


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.gc1, self.gc2 = GraphConv(24, 16), GraphConv(16, 3, use_bias=True)
        self.dropout = nn.Dropout(0.5)

    def forward(self, input_tensor, adj_mat):
        x = F.relu(self.gc1(input_tensor, adj_mat))
        return F.log_softmax(self.gc2(self.dropout(x), adj_mat), dim=1)


def train_iter(epoch, model, optimizer, criterion, input, target, mask_train, mask_val):
    model.train()
    optimizer.zero_grad()
    output = model(*input)
    loss = criterion(output[mask_train], target[mask_train])
    loss.backward()
    optimizer.step()
    loss_val, acc_val = test(model, criterion, input, target, mask_val)
    if epoch % 20 == 0:
        print(f"Epoch: {epoch:04d} loss: {loss.item():.4f} val: {loss_val:.4f} {acc_val:.4f}")
    return loss.item()


def test(model, criterion, input, target, mask):
    model.eval()
    with torch.no_grad():
        output = model(*input)[mask]
        target = target[mask]
        return criterion(output, target).item(), (output.argmax(1) == target).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(44)
    labels = torch.randint(3, (90,))
    features = (torch.rand(90, 24) < 0.1 + 0.3 * F.one_hot(labels, 3).repeat(1, 8)).float()
    same = labels[:, None] == labels[None]
    adj = (torch.rand(90, 90) < torch.where(same, 0.15, 0.01)).float()
    adj = ((adj + adj.T) > 0).float() + torch.eye(90)
    degree = adj.sum(1).rsqrt()
    adj_mat = (degree[:, None] * adj * degree[None]).to_sparse_coo()
    idx = torch.randperm(90)
    gcn = GCN()
    optimizer = Adam(gcn.parameters(), lr=0.01, weight_decay=5e-4)
    criterion = nn.NLLLoss()
    losses = [
        train_iter(
            e + 1, gcn, optimizer, criterion, (features, adj_mat), labels, idx[60:], idx[:30]
        )
        for e in range(100)
    ]
    print("TRUTH", json.dumps({"gcn": ["Adam", 100, losses[0], losses[-1]]}))
