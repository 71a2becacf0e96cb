r"""Fits energies of molecules, in the unit of the data base.

Source: https://discuss.pytorch.org/t/scaling-target-variables/41046
    https://discuss.pytorch.org/t/neural-network-could-not-learn-on-this-type-of-data-why/96648/5
Fault: the targets are all near -2700 and are not scaled; the big first errors saturate the tanh
    units and the predictions end up as one constant.
Cause:
    targets?\b.*(scale|normali|standardi|large|offset|magnitude)|(scale|normali|standardi)\w*\b.*\btarget|saturat
Place: \btarget\b|\benergies\b
"""

import torch
from torch import nn

torch.manual_seed(1)
geometry = torch.rand(300, 6) * 2 - 1
energies = -2700 + 3 * geometry[:, :1] * geometry[:, 1:2] + 2 * geometry[:, 2:3]


class EnergyNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.out = nn.Linear(6, 16), nn.Linear(16, 16), nn.Linear(16, 1)
        for layer in (self.fc1, self.fc2, self.out):
            nn.init.xavier_uniform_(layer.weight)

    def forward(self, x):
        x = torch.tanh(self.fc1(x))
        return self.out(torch.tanh(self.fc2(x)))


model = EnergyNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loss_fn = nn.MSELoss()
inputs, target = geometry, energies  # here
for epoch in range(25):
    for rows in torch.randperm(300).split(50):
        optimizer.zero_grad()
        loss = loss_fn(model(inputs[rows]), target[rows])
        loss.backward()
        optimizer.step()
    if epoch % 4 == 0:
        spread = model(inputs).std().item()
        print(f"epoch {epoch} loss {loss.item():.4f} spread of predictions {spread:.6f}")
print(f"spread of targets {target.std().item():.4f}")
