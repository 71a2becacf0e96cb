r"""A training of `Scorer`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict
Fault: load_state_dict(assign=True) is called after the optimizer was built, which replaces the
    parameters, so the optimizer updates the old ones.
Cause: assign
    |(optimi[sz]er).{0,100}(old|stale|replac|before|no longer|differ|not (the|in|contain|updat))
    |parameters.{0,60}(replac|no longer|not in)
"""

import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(45)
w = torch.randn(12)
x = torch.randn(600, 12)
risk = torch.sigmoid(x @ w)
y = torch.bernoulli(risk)


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(12, 32)
        self.fc2 = nn.Linear(32, 1)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x))).squeeze(1)


source = Scorer()
saved = copy.deepcopy(source.state_dict())

model = Scorer()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
model.load_state_dict(saved, assign=True)
for step in range(80):
    idx = torch.randint(0, 480, (48,))
    model.zero_grad()
    loss = F.binary_cross_entropy_with_logits(model(x[idx]), y[idx])
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}")
with torch.no_grad():
    print("acc", ((model(x[480:]) > 0).float() == y[480:]).float().mean().item())
