"""ULMFiT-like: the head first, then groups of layers from the top, with add_param_group."""

import json

import torch
from torch import nn

torch.manual_seed(26)
backbone = nn.Sequential(
    nn.Sequential(nn.Linear(8, 32), nn.ReLU()),
    nn.Sequential(nn.Linear(32, 32), nn.ReLU()),
    nn.Sequential(nn.Linear(32, 16), nn.ReLU()),
)


class Classifier(nn.Module):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return self.head(self.backbone(x))


classifier = Classifier(backbone)
for p in classifier.backbone.parameters():
    p.requires_grad_(False)
opt = torch.optim.SGD(classifier.head.parameters(), lr=0.05, momentum=0.9)
centers = 2 * torch.randn(4, 8)
losses = []
for epoch in range(4):
    if epoch:
        group = classifier.backbone[3 - epoch]
        for p in group.parameters():
            p.requires_grad_(True)
        opt.add_param_group({"params": group.parameters(), "lr": 0.05 / 2.6**epoch})
    for _ in range(40):
        y = torch.randint(4, (32,))
        loss = nn.functional.cross_entropy(classifier(centers[y] + torch.randn(32, 8)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    print(f"epoch {epoch}: {losses[-1]:.4f}")
print("TRUTH", json.dumps({"classifier": ["SGD", 160, losses[0], losses[-1]]}))
