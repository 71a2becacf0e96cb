r"""Trains a tabular ensemble with heavy-tailed targets and optional clipping.

Source: https://github.com/yandex-research/tabm/issues/20
Fault: the gradients are clipped before backward(), when they are still cleared, so clipping does
    nothing and outliers throw the weights off.
Cause:
    clip\w*\b.*\b(after|before|order|effect|nothing|early|never|useless)|(after|before)\b.*\bclip|unclipped
Place: clip_grad_norm_|gradient_clipping_norm
"""

import torch
from torch import nn

torch.manual_seed(9)
gradient_clipping_norm = 1.0
K = 4
x = torch.randn(512, 10)
y = x[:, 0] - 2 * x[:, 1]
y[torch.randperm(512)[:6]] *= 3000  # broken sensors


class TabM(nn.Module):
    def __init__(self, n_features=10, d_block=32):
        super().__init__()
        self.scale = nn.Parameter(1 + 0.1 * torch.randn(K, 1, n_features))
        self.block = nn.Sequential(nn.Linear(n_features, d_block), nn.ReLU())
        self.output = nn.Linear(d_block, 1)

    def forward(self, x):
        return self.output(self.block(x * self.scale)).squeeze(-1)


model = TabM()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)


def loss_fn(y_pred, y_true):
    return nn.functional.mse_loss(y_pred, y_true.expand(K, -1))


for epoch in range(5):
    for batch_idx in torch.randperm(512).split(32):
        model.train()
        optimizer.zero_grad()
        loss = loss_fn(model(x[batch_idx]), y[batch_idx])
        if gradient_clipping_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), gradient_clipping_norm)  # here
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        median = (model(x).mean(0) - y).abs().median().item()
    print(f"epoch {epoch} last loss {loss.item():.3f} median error {median:.3f}")
