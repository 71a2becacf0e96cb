r"""Depth from two losses with weights that follow how much each loss varies around its mean.

Source: https://github.com/rickgroen/cov-weighting/issues/3
Fault: A loss that stays at zero has a mean of zero, by which it is divided.
Cause: divi\w*.{0,40}zero|zero.{0,60}(mean|loss|divi|denominator)|0 ?/ ?0
    |denominator|\bnan\b.{0,60}(mean|divi)
Place: running_mean_L|\bl\b
"""

import torch
from torch import nn

torch.manual_seed(17)


class CoVWeightingLoss:
    def __init__(self, num_losses=2):
        self.num_losses = num_losses
        self.current_iter = -1
        self.alphas = torch.zeros(num_losses)
        self.running_mean_L = torch.zeros(num_losses)
        self.running_mean_l = torch.zeros(num_losses)
        self.running_S_l = torch.zeros(num_losses)
        self.running_std_l = None

    def __call__(self, unweighted_losses):
        L = torch.stack([loss.detach() for loss in unweighted_losses])
        self.current_iter += 1
        L0 = L.clone() if self.current_iter == 0 else self.running_mean_L
        l = L / L0  # noqa: E741  # here
        if self.current_iter <= 1:
            self.alphas = torch.ones(self.num_losses) / self.num_losses
        else:
            ls = self.running_std_l / self.running_mean_l  # here
            self.alphas = ls / ls.sum()
        mean_param = 0.0 if self.current_iter == 0 else 1 - 1 / (self.current_iter + 1)
        new_mean_l = mean_param * self.running_mean_l + (1 - mean_param) * l
        self.running_S_l += (l - self.running_mean_l) * (l - new_mean_l)
        self.running_mean_l = new_mean_l
        self.running_std_l = (self.running_S_l / (self.current_iter + 1)).sqrt() + 1e-8
        self.running_mean_L = mean_param * self.running_mean_L + (1 - mean_param) * L
        return sum(a * loss for a, loss in zip(self.alphas, unweighted_losses, strict=True))


net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
weighting = CoVWeightingLoss()
truth = torch.randn(6)
for step in range(90):
    x = torch.rand(64, 6)
    depth = 5 + x @ truth[:, None]
    pred = net(x)
    reconstruction = (pred - depth).abs().mean()
    too_far = torch.relu(pred - 80).mean()
    loss = weighting([reconstruction, too_far])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 0:
        print(f"step {step} loss {loss.item():.4f} reconstruction {reconstruction.item():.4f}")
print(f"final reconstruction {reconstruction.item():.4f}")
