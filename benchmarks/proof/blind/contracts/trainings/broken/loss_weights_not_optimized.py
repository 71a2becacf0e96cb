r"""A training of `WeightedLoss`.

Source: https://docs.pytorch.org/docs/stable/optim.html#constructing-it
Fault: The learnable log-variances that weight the two losses are not given to the optimizer, so
    they stay at their initial values.
Cause: (log_?-?var\w*|uncertainty|(loss|task) weight\w*|sigma|criterion)\W.{0,120}(optimi[sz]er|never|not|initial|constant|updat)
    |not (in|given to|passed to|part of) (the |any )?optimi[sz]er
    |optimi[sz]er.{0,60}(miss|without|only|lack|does not)
"""

import torch
from torch import nn

torch.manual_seed(234)
x = torch.randn(640, 8)
depth = (50 * (x[:, 0] - 0.5 * x[:, 1])).unsqueeze(1) + 10 * torch.randn(640, 1)
kind = (x[:, 2] + x[:, 3] > 0).long()


class WeightedLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_vars = nn.Parameter(torch.zeros(2))

    def forward(self, reg, cls):
        prec = torch.exp(-self.log_vars)
        return prec[0] * reg + prec[1] * cls + self.log_vars.sum()


trunk = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
reg_head, cls_head = nn.Linear(32, 1), nn.Linear(32, 2)
net = nn.ModuleList([trunk, reg_head, cls_head])
criterion = WeightedLoss()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(15):
    for idx in torch.randperm(512).split(64):
        h = trunk(x[idx])
        reg = nn.functional.mse_loss(reg_head(h), depth[idx])
        cls = nn.functional.cross_entropy(cls_head(h), kind[idx])
        loss = criterion(reg, cls)
        opt.zero_grad()
        criterion.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        print(epoch + 1, round(reg.item(), 3), round(cls.item(), 4), criterion.log_vars.tolist())
with torch.no_grad():
    print("acc", (cls_head(trunk(x[512:])).argmax(1) == kind[512:]).float().mean().item())
