r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn

torch.manual_seed(47)
proto = torch.randn(4, 20)
labels = torch.randint(4, (640,))
inputs = proto[labels] + 1.1 * torch.randn(640, 20)

stem = nn.Sequential(nn.Linear(20, 40), nn.ReLU())
head = nn.Linear(40, 4)
net = nn.Sequential(stem, head)
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=0.05)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(10):
    if epoch == 3:
        for p in stem.parameters():
            p.requires_grad_(False)
        frozen = stem[0].weight.detach().clone()
    for idx in torch.randperm(512).split(64):
        opt.zero_grad(set_to_none=True)
        loss = loss_fn(net(inputs[idx]), labels[idx])
        loss.backward()
        opt.step()
    print(f"epoch {epoch}: {loss.item():.4f}")

net.eval()
with torch.no_grad():
    print("stem norm", frozen.norm().item(), "->", stem[0].weight.norm().item())
    print("acc", (net(inputs[512:]).argmax(1) == labels[512:]).float().mean().item())
