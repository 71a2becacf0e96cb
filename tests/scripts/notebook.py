# %% [markdown]
# # Two moons, from a notebook (File > Download as > Python)

# %%
import math
import os

import torch

torch.manual_seed(0)

# %%
t = torch.rand(64) * math.pi
moon = torch.stack([torch.cos(t), torch.sin(t)], 1)
X = torch.cat([moon, torch.tensor([1.0, 0.5]) - moon]) + 0.1 * torch.randn(128, 2)
y = torch.cat([torch.zeros(64), torch.ones(64)])
X.shape, y.shape

# %%
model = torch.nn.Sequential(
    torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1), torch.nn.Flatten(0)
)
loss_fn = torch.nn.BCEWithLogitsLoss()
opt = torch.optim.Adam(model.parameters(), lr=0.05)

# %%
losses = []
for i in range(20):
    loss = loss_fn(model(X), y)
    opt.zero_grad()
    loss.backward()
    # truth: before("model", opt, loss)
    opt.step()
    # truth: after("model")
    losses.append(loss.item())
    if i % 5 == 0:
        print(i, loss.item())

# %%
with torch.no_grad():
    acc = ((model(X) > 0) == y.bool()).float().mean()
print("accuracy", acc)
torch.save([p.data for p in model.parameters()], os.environ["WEIGHTS"])
