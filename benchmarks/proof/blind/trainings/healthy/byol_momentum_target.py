r"""Bootstrap your own latent: an online network predicts a moving average of itself.

Source: https://github.com/lucidrains/byol-pytorch/blob/master/byol_pytorch/byol_pytorch.py
Odd: The target encoder has no gradients and is in no optimizer; it moves by the average only.
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn


class EMA:
    def __init__(self, beta):
        self.beta = beta

    def update_average(self, old, new):
        return old * self.beta + (1 - self.beta) * new


def update_moving_average(ema, ma_model, current_model):
    pairs = zip(current_model.parameters(), ma_model.parameters(), strict=True)
    for current_params, ma_params in pairs:
        ma_params.data = ema.update_average(ma_params.data, current_params.data)


def mlp(dim, hidden, out):
    return nn.Sequential(
        nn.Linear(dim, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, out)
    )


torch.manual_seed(7)
online, predictor = mlp(16, 32, 12), mlp(12, 24, 12)
target = copy.deepcopy(online).requires_grad_(False)
opt = torch.optim.Adam([*online.parameters(), *predictor.parameters()], lr=3e-3)
ema = EMA(0.98)
mix = torch.randn(4, 16)
for step in range(200):
    base = torch.randn(96, 4) @ mix
    one, two = base + 0.4 * torch.randn_like(base), base + 0.4 * torch.randn_like(base)
    with torch.no_grad():
        t_one, t_two = target(one), target(two)
    loss_one = 2 - 2 * F.cosine_similarity(predictor(online(one)), t_two, dim=-1)
    loss_two = 2 - 2 * F.cosine_similarity(predictor(online(two)), t_one, dim=-1)
    loss = (loss_one + loss_two).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    update_moving_average(ema, target, online)
    if step % 40 == 0 or step == 199:
        print(f"step {step} loss {loss.item():.4f}")
