r"""Change detection by a segmenter with an adversary that judges its maps.

Source: https://github.com/wangle53/CSA-CDGAN/issues/5
Fault: In the loss of the segmenter the judgement is detached, so that term has no gradient.
Cause: detach\w*|(adversar|err_g_adv|gan)\w*.*(no grad|not|constant|never|without|nothing)
    |(no|without) grad\w*.*(adv|discriminator|err_g)|constant (term|part)
Place: err_g_adv|pred_fake
"""

import torch
from torch import nn

torch.manual_seed(0)
before = torch.rand(96, 1, 12, 12)
change = torch.zeros(96, 1, 12, 12)
for i in range(96):
    r, c = torch.randint(0, 8, (2,)).tolist()
    change[i, :, r : r + 4, c : c + 4] = 1
pair = torch.cat([before, (before + 0.6 * change + 0.1 * torch.rand_like(before))], 1)
netg = nn.Sequential(
    nn.Conv2d(2, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 3, padding=1), nn.Sigmoid()
)
netd = nn.Sequential(
    nn.Conv2d(1, 12, 3, stride=2), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(300, 1), nn.Sigmoid()
)
optimizer_g = torch.optim.Adam(netg.parameters(), lr=2e-3)
optimizer_d = torch.optim.Adam(netd.parameters(), lr=2e-4)
bce = nn.BCELoss()
for step in range(60):
    index = torch.randint(0, 96, (16,))
    real, fake = change[index], netg(pair[index])
    ones, zeros = torch.ones(16, 1), torch.zeros(16, 1)
    loss_d = bce(netd(real), ones) + bce(netd(fake.detach()), zeros)
    optimizer_d.zero_grad()
    loss_d.backward()
    optimizer_d.step()
    pred_fake = netd(fake)
    err_g_adv = bce(pred_fake.detach(), ones)  # here
    err_g = bce(fake, real) + 0.1 * err_g_adv
    optimizer_g.zero_grad()
    err_g.backward()
    optimizer_g.step()
print(f"segmentation loss {bce(netg(pair), change).item():.3f}")
