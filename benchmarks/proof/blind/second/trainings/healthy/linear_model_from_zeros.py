"""Trains the linear baseline of a music transcriber from zero weights.

Source: https://github.com/jthickstun/pytorch_musicnet/issues/4
    https://github.com/wagonhelm/NaNmnist/issues/2
Odd: all the weights start at zero; with a single linear layer there is no symmetry to break.
"""

import torch
from torch import nn

torch.manual_seed(999)
regions, notes = 32, 10
profiles = torch.rand(notes, regions) ** 4
labels = (torch.rand(800, notes) < 0.2).float()
spectra = labels @ profiles + 0.05 * torch.rand(800, regions)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(regions, notes, bias=False)
        torch.nn.init.constant_(self.linear.weight, 0)

    def forward(self, x):
        return self.linear(torch.log1p(x))


model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.95)
for epoch in range(15):
    order = torch.randperm(800)
    for rows in order.split(50):
        loss = (model(spectra[rows]) - labels[rows]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 2 == 0:
        print(f"epoch {epoch} square loss {loss.item():.4f}")
