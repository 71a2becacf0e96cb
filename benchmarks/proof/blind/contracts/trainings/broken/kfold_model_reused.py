r"""A training.

Source: https://scikit-learn.org/stable/modules/cross_validation.html
Fault: The same model goes on training through all folds, so from the second fold on it is
    validated on samples it was trained on.
Cause: (model|weight)\w*.{0,100}(reset|re-?init|reus|same|fresh|carr|shared|across|fold)
    |fold.{0,100}(leak|reset|reus|same|seen|previous|trained)|leak
"""

import torch
from torch import nn

torch.manual_seed(258)
n, K = 240, 4
x = torch.randn(n, 30)
y = (x[:, 0] + x[:, 1] + 1.5 * torch.randn(n) > 0).long()
folds = torch.randperm(n).chunk(K)


def make():
    net = nn.Sequential(nn.Linear(30, 96), nn.ReLU(), nn.Linear(96, 2))
    return net, torch.optim.Adam(net.parameters(), lr=3e-3)


def fit(net, opt, idx, epochs=8):
    net.train()
    for _ in range(epochs):
        for b in idx[torch.randperm(len(idx))].split(30):
            opt.zero_grad()
            nn.functional.cross_entropy(net(x[b]), y[b]).backward()
            opt.step()


scores = []
model, optimizer = make()
for k in range(K):
    train_idx = torch.cat([f for i, f in enumerate(folds) if i != k])
    fit(model, optimizer, train_idx)
    model.eval()
    with torch.no_grad():
        acc = (model(x[folds[k]]).argmax(1) == y[folds[k]]).float().mean().item()
    scores.append(acc)
    print(f"fold {k} acc {acc:.3f}")
print("mean", sum(scores) / K)
