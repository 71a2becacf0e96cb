r"""A training of `Accuracy`.

Source: https://lightning.ai/docs/torchmetrics/stable/pages/overview.html
Fault: The counters of the accuracy are not reset between epochs, so each reported value mixes in
    all earlier epochs.
Cause: reset|(earlier|previous|all|past) epochs?|accumulat|counter|carried over|cumulative
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(268)


class Accuracy:
    def __init__(self):
        self.reset()

    def reset(self):
        self.hit, self.seen = 0, 0

    def update(self, logits, target):
        self.hit += (logits.argmax(1) == target).sum().item()
        self.seen += len(target)

    def compute(self):
        return self.hit / self.seen


mu = torch.randn(5, 20)
lab = torch.randint(5, (900,))
x = mu[lab] + 1.2 * torch.randn(900, 20)
train_dl = DataLoader(TensorDataset(x[:700], lab[:700]), batch_size=70, shuffle=True)
val_dl = DataLoader(TensorDataset(x[700:], lab[700:]), batch_size=100)
net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
metric = Accuracy()
for epoch in range(10):
    net.train()
    for xb, yb in train_dl:
        opt.zero_grad()
        nn.functional.cross_entropy(net(xb), yb).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        for xb, yb in val_dl:
            metric.update(net(xb), yb)
    print(f"epoch {epoch} val acc {metric.compute():.4f}")
