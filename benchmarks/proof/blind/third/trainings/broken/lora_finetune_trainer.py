r"""Low-rank adapter finetuning of a frozen linear classifier.

Source: https://github.com/tenstorrent/tt-blacksmith/pull/711
Fault: The gradients are never cleared, so each step uses the sum of all gradients so far.
Cause: zero_grad|(grad\w*).*(never|not).*(clear|zero|reset)|(stale|old|accumul\w*).*grad
    |grad\w*.*accumul
Place: zero_grad|optimizer|train
"""

import torch
from torch import nn


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_A = nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + x @ self.lora_A.t() @ self.lora_B.t()


torch.manual_seed(0)
x = torch.randn(320, 20)
labels = (x @ torch.randn(20, 5)).argmax(1)
model = LoRALinear(nn.Linear(20, 5))
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.3)
for epoch in range(15):
    for index in torch.randperm(320).split(32):
        loss = nn.functional.cross_entropy(model(x[index]), labels[index])
        loss.backward()
        optimizer.step()  # here
print(f"loss {nn.functional.cross_entropy(model(x), labels).item():.3f}")
