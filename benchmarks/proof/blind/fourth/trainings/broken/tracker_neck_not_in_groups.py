r"""Siamese tracker whose parts have groups of their own in the optimizer.

Source: https://github.com/ohhhyeahhh/SiamCAR/issues/18
Fault: The layer that joins the features is in no group, so it stays as it was drawn.
Cause: (not|no|missing|without|outside|never|absent|left out)\w* .*optimi[sz]er
    |optimi[sz]er .*(not|miss|lack|without|never|absent)\w*|\bdown\b
Place: \bdown\b
"""

import torch
from torch import nn


class ModelBuilder(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU())
        self.down = nn.ConvTranspose2d(16, 8, 1, 1)  # here
        self.car_head = nn.Sequential(nn.Flatten(), nn.Linear(8 * 64, 2))

    def forward(self, template, search):
        zf, xf = self.backbone(template).mean((2, 3), keepdim=True), self.backbone(search)
        features = self.down(torch.cat([xf * zf, xf], 1))
        return self.car_head(torch.relu(features))


torch.manual_seed(0)
centre = torch.rand(200, 2) * 1.4 - 0.7
grid = torch.linspace(-1, 1, 12)
search = torch.exp(
    -10 * ((grid - centre[:, :1, None]) ** 2 + (grid[:, None] - centre[:, 1:, None]) ** 2)
)[:, None]
template = torch.exp(-10 * (grid**2 + grid[:, None] ** 2)).expand(200, 1, 12, 12)
model = ModelBuilder()
trainable_params = [{"params": model.backbone.parameters(), "lr": 1e-3}]
trainable_params += [{"params": model.car_head.parameters(), "lr": 1e-2}]
optimizer = torch.optim.SGD(trainable_params, momentum=0.9, weight_decay=1e-4)  # here
for epoch in range(8):
    for index in torch.randperm(200).split(25):
        loss = nn.functional.mse_loss(model(template[index], search[index]), centre[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"loss {loss.item():.4f}")
