r"""A training of `StripeNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.Adadelta.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(71)
yy, xx = torch.meshgrid(torch.arange(10.0), torch.arange(10.0), indexing="ij")
kind = torch.randint(0, 3, (700,))
shift = torch.rand(700, 1, 1) * 6
stripes = [torch.sin(xx + shift), torch.sin(yy + shift), torch.sin(xx + yy + shift)]
images = torch.stack([stripes[k][i] for i, k in enumerate(kind.tolist())])
images = images.unsqueeze(1) + 0.4 * torch.randn(700, 1, 10, 10)


class StripeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.fc = nn.Linear(8 * 16, 3)

    def forward(self, im):
        h = F.max_pool2d(F.relu(self.conv(im)), 2)
        return self.fc(h.flatten(1))


net = StripeNet()
opt = torch.optim.Adadelta(net.parameters(), lr=1.0)
for epoch in range(6):
    for idx in torch.randperm(560).split(56):
        opt.zero_grad()
        loss = F.cross_entropy(net(images[idx]), kind[idx])
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
with torch.no_grad():
    print("acc", (net(images[560:]).argmax(1) == kind[560:]).float().mean().item())
