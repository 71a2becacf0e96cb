"""Fine-tunes with two groups: the backbone at a hundredth of the head's rate.

Source: https://github.com/facebookresearch/detr/blob/main/main.py
Odd: the weights of the backbone hardly move while those of the head do; the groups have different
    learning rates on purpose.
"""

import torch
from torch import nn

torch.manual_seed(1)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.class_embed = nn.Linear(32, 4)

    def forward(self, x):
        return self.class_embed(self.backbone(x))


x = torch.randn(600, 20)
old_y, new_y = (x[:, :4] ** 2).argmax(1), (x[:, :4] ** 2).argmin(1)
model = Detector()
pretraining = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(60):
    loss = nn.functional.cross_entropy(model(x), old_y)
    pretraining.zero_grad()
    loss.backward()
    pretraining.step()
model.class_embed.reset_parameters()

param_dicts = [
    {"params": [p for n, p in model.named_parameters() if "backbone" not in n]},
    {"params": model.backbone.parameters(), "lr": 1e-4},
]
optimizer = torch.optim.AdamW(param_dicts, lr=1e-2, weight_decay=1e-4)
start = {n: p.detach().clone() for n, p in model.named_parameters()}
for epoch in range(8):
    total = 0.0
    for rows in torch.randperm(600).split(60):
        loss = nn.functional.cross_entropy(model(x[rows]), new_y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 10
    print(f"epoch {epoch} loss {total:.4f}")
moved = {n: (p - start[n]).abs().mean().item() for n, p in model.named_parameters()}
print({n: round(v, 4) for n, v in moved.items() if "weight" in n})
