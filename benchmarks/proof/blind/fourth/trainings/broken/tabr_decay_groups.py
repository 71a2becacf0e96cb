r"""Tabular network with embeddings; normalisation, biases and embeddings should not decay.

Source: https://github.com/yandex-research/tabular-dl-tabr/issues/19
Fault: Both branches of the condition append to the group that decays; the other group stays empty.
Cause: decay\w*.*(bias|norm|all|embedding|every|one group)|(bias|norm|embedding)\w*.*decay
    |group\w*.*(empty|no param|without)|empty.*group
Place: params_with(out)?_wd|weight_decay|parameter_groups
"""

import torch
from torch import nn


class TabularNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(12, 6)
        self.encoder = nn.Linear(14, 32)
        self.norm = nn.LayerNorm(32)
        self.head = nn.Linear(32, 1)

    def forward(self, category, x):
        x = self.encoder(torch.cat([self.embedding(category), x], 1))
        return self.head(torch.relu(self.norm(x))).squeeze(1)


def make_parameter_groups(model):
    params_with_wd = {"params": []}
    params_without_wd = {"params": [], "weight_decay": 0.0}
    for name, parameter in model.named_parameters():
        needs_wd = not (name.endswith("bias") or "norm" in name or "embedding" in name)
        (params_with_wd if needs_wd else params_with_wd)["params"].append(parameter)  # noqa: RUF034  # here
    return [params_with_wd, params_without_wd]


torch.manual_seed(0)
category, x = torch.randint(0, 12, (400,)), torch.randn(400, 8)
y = torch.randn(12)[category] + x[:, 0] * x[:, 1] + 2
model = TabularNet()
optimizer = torch.optim.AdamW(make_parameter_groups(model), lr=5e-3, weight_decay=0.5)
for epoch in range(10):
    for index in torch.randperm(400).split(50):
        loss = nn.functional.mse_loss(model(category[index], x[index]), y[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"error {loss.item():.3f}")
