r"""A low-rank change of a fixed layer is learned and its moving average is what gets saved.

Source: https://github.com/ostris/ai-toolkit/issues/1034
Fault: The average is moved away from the parameters: the gap is added and should be subtracted.
Cause: (ema|average|shadow)\w*.{0,120}(away|sign|add|subtract|diverg|grow|explod|wrong direction)
    |(sign|direction).{0,80}(ema|average|shadow|gap)
    |(ema|average|shadow)\w*.{0,80}(worse|not follow|not track|does not|unrelated)
Place: ema|shadow|s_param|add_|average
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(90)


class LowRank(nn.Module):
    def __init__(self, base, rank=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features**0.5)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + x @ self.down.t() @ self.up.t()


class ExponentialMovingAverage:
    def __init__(self, parameters, decay=0.98):
        self.decay = decay
        self.shadow_params = [p.detach().clone() for p in parameters]

    @torch.no_grad()
    def update(self, parameters):
        for s_param, param in zip(self.shadow_params, parameters):
            gap = s_param - param
            s_param.add_(gap * (1 - self.decay))  # here

    @torch.no_grad()
    def copy_to(self, parameters):
        for s_param, param in zip(self.shadow_params, parameters):
            param.copy_(s_param)


def trainable(model):
    return [p for p in model.parameters() if p.requires_grad]


base = nn.Sequential(nn.Linear(16, 48), nn.Tanh(), nn.Linear(48, 12))
target = copy.deepcopy(base)
with torch.no_grad():
    target[0].weight += 0.4 * torch.randn(48, 2) @ torch.randn(2, 16) / 2
    target[2].weight += 0.4 * torch.randn(12, 2) @ torch.randn(2, 48) / 4
model = nn.Sequential(LowRank(base[0]), nn.Tanh(), LowRank(base[2]))
optimizer = torch.optim.AdamW(trainable(model), lr=4e-3)
ema = ExponentialMovingAverage(trainable(model))


@torch.no_grad()
def error(network, count=1000):
    x = torch.randn(count, 16)
    wanted = target(x)
    return (F.mse_loss(network(x), wanted) / wanted.var()).item()


for step in range(240):
    x = torch.randn(64, 16)
    with torch.no_grad():
        wanted = target(x) + 0.1 * torch.randn(64, 12)
    loss = F.mse_loss(model(x), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update(trainable(model))
    if step % 48 == 47:
        print(f"step {step + 1} loss {loss.item():.4f} error {error(model):.4f}")
saved = copy.deepcopy(model)
ema.copy_to(trainable(saved))
print(f"saved model: error {error(saved):.4f}")
