r"""Classification with a third of the labels wrong, by a bounded loss.

Source: https://github.com/AlanChou/Truncated-Loss/blob/master/TruncatedLoss.py
Odd: The loss cannot fall below what the wrong labels leave; samples with a small probability are
    pruned from later epochs by weights of 0.
"""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(600, 16)
clean = (x @ torch.randn(16, 4)).argmax(1)
noisy = torch.where(torch.rand(600) < 0.3, torch.randint(0, 4, (600,)), clean)
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9, weight_decay=1e-4)
weight, q, k = torch.ones(600), 0.7, 0.3
for epoch in range(6):
    for index in torch.randperm(600).split(60):
        p = model(x[index]).softmax(1).gather(1, noisy[index, None]).squeeze(1)
        loss = ((1 - p**q) / q * weight[index] - (1 - k**q) / q * weight[index]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch >= 3:
        with torch.no_grad():
            weight = (model(x).softmax(1).gather(1, noisy[:, None]).squeeze(1) > k).float()
accuracy = (model(x).argmax(1) == clean).float().mean().item()
print(f"accuracy on the true labels {accuracy:.3f}, kept {weight.mean().item():.2f}")
