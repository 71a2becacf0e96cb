r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.add_param_group.html
Fault: The optimizer was built from only the trainable parameters, and the layers unfrozen later
    were never added to it.
Cause: (unfr(o|e)ez\w*|unfrozen|frozen).{0,120}(optimi[sz]er|add_param_group|never)
    |add_param_group|not (in|added to|part of) (the |any )?optimi[sz]er
    |optimi[sz]er.{0,80}(not|miss|lack|without|only)
    |trainable from step \d+ on, but in no optimizer
"""

import torch
from torch import nn

torch.manual_seed(35)
A = torch.randn(18, 18) / 3
x = torch.randn(900, 18)
y = (torch.tanh(x @ A)[:, :4]).argmax(1)
xt, yt = x[750:], y[750:]

body = nn.Sequential(nn.Linear(18, 48), nn.Tanh())
head = nn.Linear(48, 4)
model = nn.Sequential(body, head)
body.requires_grad_(False)
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=5e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(12):
    if epoch == 4:
        body.requires_grad_(True)
        print("training all layers")
    for idx in torch.randperm(750).split(75):
        model.zero_grad()
        loss = criterion(model(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")

model.eval()
with torch.no_grad():
    print("test acc", (model(xt).argmax(1) == yt).float().mean().item())
