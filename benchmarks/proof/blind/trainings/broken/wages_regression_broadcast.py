r"""Ordinary regression of wages on two features, full batch.

Source: https://github.com/pytorch/pytorch/issues/16045
Fault: A prediction of shape (n, 1) against a target of shape (n,) broadcasts to (n, n); the model
    learns the mean and the loss stays near the variance of the target.
Cause: broadcast|shape.*(mismatch|differ|\(n, ?1\)|squeeze|reshape|view)|squeeze|target size
"""

import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore")
torch.manual_seed(1)

sample_size = 100
features = torch.randn(sample_size, 2)
noise = torch.randn(sample_size)
wages = 10 + 9 * features[:, 0] - 2 * features[:, 1] + noise

model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
loss_func = nn.MSELoss()

for epoch in range(200):
    optimizer.zero_grad()
    yhat = model(features)
    loss_val = loss_func(yhat, wages)  # here
    loss_val.backward()
    optimizer.step()
    if epoch % 40 == 39:
        print(epoch, round(loss_val.item(), 3))

residual = (model(features).flatten() - wages).pow(2).mean()
print("mean squared error", round(residual.item(), 3))
