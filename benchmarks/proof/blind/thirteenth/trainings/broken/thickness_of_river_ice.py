r"""Predicts the thickness of river ice with plain SGD and a cosine for the rate.

Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CosineAnnealingLR.html
Fault: The half period of the cosine is set to ten epochs while the run has twenty; after the
    tenth the rate climbs again, and the run ends at the full rate where it should end near zero.
Cause: t_max|cosine.*(period|short|length|epochs|climb|rise|again|half)
    |(rate|lr).*(climb|rise|rising|again|increas|goes up)
    |(shorter|less|smaller|half).*(than|of) the (run|number of epochs|training)
Place: schedul|T_max|CosineAnnealingLR
"""
import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(76)
EPOCHS = 20


def winters(n):
    frost = torch.rand(n) * 900
    snow = torch.rand(n) * 40
    flow = torch.rand(n) * 2
    days = torch.rand(n) * 90
    ice = 2.5 * torch.sqrt(frost) / (1 + 0.02 * snow) * torch.exp(-0.3 * flow)
    inputs = torch.stack([frost / 450 - 1, snow / 20 - 1, flow - 1, days / 45 - 1], dim=1)
    return inputs, ((ice + 4 * torch.randn(n)) / 15 - 1.5).unsqueeze(1)


class IceNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)
        )

    def forward(self, x):
        return self.net(x)


def error_on(model, x, y):
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(x), y).item()


loader = DataLoader(TensorDataset(*winters(800)), batch_size=10, shuffle=True)
test = winters(1000)
model = IceNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = CosineAnnealingLR(optimizer, T_max=10)  # here

for epoch in range(EPOCHS):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    scheduler.step()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1}: test error {error_on(model, *test):.4f}")
