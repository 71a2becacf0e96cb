r"""Products of gene clusters, each cluster seen through several windows of its genes.

Source: https://github.com/HUST-NingKang-Lab/BGC-Prophet/issues/8
Fault: The rows are shuffled and split one by one although five windows come from one cluster, so
    windows of the same cluster lie in both the training and the test part and the score is that
    of clusters already seen.
Cause: leak|(same|one|each) (cluster|group|gene|source|bgc|sample).{0,120}(both|train.{0,20}test
    |test.{0,20}train|either|across)|split.{0,80}(row|window|by (cluster|group)|per (cluster
    |group)|individual|not.{0,20}(cluster|group))|(group|cluster).{0,40}split|window.{0,80}(both
    |overlap)
Place: split|train_test_split|order|perm|rows|train_rows|test_rows|index|cluster
"""

import torch
from torch import nn

torch.manual_seed(31)
CLUSTERS, WINDOWS, GENES, KINDS = 160, 5, 40, 4


def read_table():
    """One row for every window of a cluster, with the kind of its product."""
    kind = torch.randint(0, KINDS, (CLUSTERS,))
    motif = torch.randn(KINDS, GENES)
    genes = 0.22 * motif[kind] + torch.randn(CLUSTERS, GENES)
    rows = genes.repeat_interleave(WINDOWS, 0)
    rows = rows + 0.3 * torch.randn(rows.shape)
    return rows, kind.repeat_interleave(WINDOWS), torch.arange(CLUSTERS).repeat_interleave(WINDOWS)


def train_test_split(x, y, cluster, share=0.8):
    order = torch.randperm(len(x))  # here
    cut = int(share * len(x))
    train, test = order[:cut], order[cut:]
    return x[train], y[train], x[test], y[test]


x, y, cluster = read_table()
x_train, y_train, x_test, y_test = train_test_split(x, y, cluster)
mean, std = x_train.mean(0), x_train.std(0)
x_train, x_test = (x_train - mean) / std, (x_test - mean) / std

model = nn.Sequential(
    nn.Linear(GENES, 128),
    nn.ReLU(),
    nn.Dropout(0.2),
    nn.Linear(128, 64),
    nn.ReLU(),
    nn.Linear(64, KINDS),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-3)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(20):
    model.train()
    total = 0.0
    for rows in torch.randperm(len(x_train)).split(64):
        loss = loss_fn(model(x_train[rows]), y_train[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(rows)
    if epoch % 5 == 4:
        model.eval()
        with torch.no_grad():
            accuracy = (model(x_test).argmax(1) == y_test).float().mean().item()
        print(f"epoch {epoch + 1} loss {total / len(x_train):.4f} test accuracy {accuracy:.3f}")
