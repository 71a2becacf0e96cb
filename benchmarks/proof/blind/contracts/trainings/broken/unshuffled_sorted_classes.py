r"""A training.

Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
Fault: The training data are sorted by class and the loader does not shuffle, so every batch
    contains a single class.
Cause: shuffl\w*|sorted|(single|one|same) class|ordered by
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(154)
K, per = 6, 100
mu = 1.2 * torch.randn(K, 10)
xs = [mu[k] + torch.randn(per, 10) for k in range(K)]
train_x = torch.cat([s[:80] for s in xs])
train_y = torch.arange(K).repeat_interleave(80)
test_x = torch.cat([s[80:] for s in xs])
test_y = torch.arange(K).repeat_interleave(20)

train_loader = DataLoader(TensorDataset(train_x, train_y), batch_size=40)
test_loader = DataLoader(TensorDataset(test_x, test_y), batch_size=60)
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, K))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(8):
    model.train()
    for xb, yb in train_loader:
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()
    model.eval()
    correct = 0
    with torch.no_grad():
        for xb, yb in test_loader:
            correct += (model(xb).argmax(1) == yb).sum().item()
    print(f"epoch {epoch} loss {loss.item():.4f} test acc {correct / len(test_y):.3f}")
