r"""First steps of a tutorial: training and test of a classifier in batches.

Source: https://github.com/chainer/chainer/issues/777
Fault: The accuracy is assigned in the loop, not summed, so only the last batch counts.
Cause: last batch
    |(accuracy|hits|metric) .*(overwrit|assign|accumulat|sum|add|last|divid|inconsistent)
    |\+=
Place: \bsum_accuracy\b
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(30, 50)
        self.l2 = nn.Linear(50, 50)
        self.l3 = nn.Linear(50, 10)

    def forward(self, x):
        return self.l3(F.relu(self.l2(F.relu(self.l1(x)))))


torch.manual_seed(0)
means = 1.2 * torch.randn(10, 30)
y_train, y_test = torch.randint(0, 10, (1000,)), torch.randint(0, 10, (500,))
x_train = means[y_train] + torch.randn(1000, 30)
x_test = means[y_test] + torch.randn(500, 30)
batchsize = 50
model = MLP()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(4):
    print("epoch", epoch)
    indexes = torch.randperm(1000)
    for i in range(0, 1000, batchsize):
        x, t = x_train[indexes[i : i + batchsize]], y_train[indexes[i : i + batchsize]]
        loss = F.cross_entropy(model(x), t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

sum_loss, sum_accuracy = 0, 0
for i in range(0, 500, batchsize):
    x, t = x_test[i : i + batchsize], y_test[i : i + batchsize]
    with torch.no_grad():
        logits = model(x)
    sum_loss += F.cross_entropy(logits, t).item() * batchsize
    sum_accuracy = (logits.argmax(1) == t).float().mean().item() * batchsize  # here
mean_loss = sum_loss / 500
mean_accuracy = sum_accuracy / 500
print(f"mean loss {mean_loss:.4f} mean accuracy {mean_accuracy:.4f}")
