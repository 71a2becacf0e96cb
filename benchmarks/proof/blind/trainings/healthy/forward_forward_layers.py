r"""The forward-forward algorithm: each layer has its own optimizer and loss.

Source: https://github.com/mohammadpz/pytorch_forward_forward/blob/main/main.py
Odd: The activations are detached between layers, so no gradient passes from one to another; each
    layer learns from its local goodness.
"""

import torch
from torch import nn


class Layer(nn.Linear):
    def __init__(self, in_features, out_features):
        super().__init__(in_features, out_features)
        self.opt = torch.optim.Adam(self.parameters(), lr=0.02)
        self.threshold = 2.0

    def forward(self, x):
        x_direction = x / (x.norm(2, 1, keepdim=True) + 1e-4)
        return torch.relu(x_direction @ self.weight.T + self.bias)

    def train_step(self, x_pos, x_neg):
        g_pos = self.forward(x_pos).pow(2).mean(1)
        g_neg = self.forward(x_neg).pow(2).mean(1)
        margins = torch.cat([-g_pos + self.threshold, g_neg - self.threshold])
        loss = torch.log(1 + torch.exp(margins)).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item(), self.forward(x_pos).detach(), self.forward(x_neg).detach()


def overlay(x, y):
    return torch.cat([x, 3 * nn.functional.one_hot(y, 3).float()], 1)


torch.manual_seed(1234)
layers = [Layer(11, 48), Layer(48, 48)]
centers = 2 * torch.randn(3, 8)
for epoch in range(200):
    y = torch.randint(0, 3, (128,))
    x = centers[y] + 0.3 * torch.randn(128, 8)
    h_pos, h_neg = overlay(x, y), overlay(x, (y + torch.randint(1, 3, (128,))) % 3)
    losses = []
    for layer in layers:
        loss, h_pos, h_neg = layer.train_step(h_pos, h_neg)
        losses.append(loss)
    if epoch % 40 == 39:
        goodness = []
        for label in range(3):
            h = overlay(x, torch.full_like(y, label))
            total = 0
            for layer in layers:
                h = layer(h)
                total = total + h.pow(2).mean(1)
            goodness.append(total)
        acc = (torch.stack(goodness, 1).argmax(1) == y).float().mean().item()
        print(f"epoch {epoch} local losses {losses[0]:.3f} {losses[1]:.3f} accuracy {acc:.3f}")
