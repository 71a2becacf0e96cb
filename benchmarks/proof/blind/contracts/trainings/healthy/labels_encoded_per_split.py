r"""A training.

Source: https://scikit-learn.org/stable/modules/generated/sklearn.preprocessing.LabelEncoder.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn

torch.manual_seed(184)
names = ["ant", "bee", "cat", "dog", "eel"]
mu = 2 * torch.randn(5, 8)


def collect(n, allowed):
    ids = torch.tensor(allowed)[torch.randint(len(allowed), (n,))]
    return mu[ids] + torch.randn(n, 8), [names[i] for i in ids.tolist()]


def encode(labels, mapping=None):
    if mapping is None:
        mapping = {}
        for name in sorted(set(labels)):
            mapping[name] = len(mapping)
    return torch.tensor([mapping[name] for name in labels]), mapping


x_train, labels_train = collect(500, [0, 1, 2, 3, 4])
x_test, labels_test = collect(150, [1, 2, 4])
y_train, mapping = encode(labels_train)
y_test, _ = encode(labels_test, mapping)

model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, len(mapping)))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(8):
    for idx in torch.randperm(500).split(50):
        loss = nn.functional.cross_entropy(model(x_train[idx]), y_train[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
model.eval()
with torch.no_grad():
    print("test acc", (model(x_test).argmax(1) == y_test).float().mean().item())
