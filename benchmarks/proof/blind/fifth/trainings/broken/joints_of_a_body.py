r"""Regression of the coordinates of body joints from features of a picture.

Source: https://github.com/BVLC/caffe/issues/1396
Fault: A weight decay of 0.5 pulls all weights to zero, any input gives the same output.
Cause: weight[_ ]?decay|regulari[sz]ation|\bl2\b|weights? .*(shrink|shrunk|pulled|decay)
Place: \bweight_decay\b
"""

import numpy as np
import torch
from torch import nn

solver = {"base_lr": 0.05, "momentum": 0.9, "weight_decay": 0.5, "batch": 64}  # here
rng = np.random.default_rng(0)
basis = rng.normal(size=(6, 40)).astype(np.float32)
pose = rng.uniform(-1, 1, size=(512, 6)).astype(np.float32)
pictures = torch.from_numpy(np.tanh(pose @ basis))
joints = torch.from_numpy(pose) * 0.5

torch.manual_seed(0)
net = nn.Sequential(
    nn.Linear(40, 64),
    nn.ReLU(),
    nn.Linear(64, 64),
    nn.ReLU(),
    nn.Linear(64, 6),
)
optimizer = torch.optim.SGD(
    net.parameters(),
    lr=solver["base_lr"],
    momentum=solver["momentum"],
    weight_decay=solver["weight_decay"],
)
for iteration in range(100):
    pick = torch.randint(0, 512, (solver["batch"],))
    loss = 0.5 * (net(pictures[pick]) - joints[pick]).square().sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    outputs = net(pictures)
print("predictions", outputs[:3].numpy().round(4).tolist())
print(f"loss {loss.item():.4f}, spread of predictions {outputs.std(0).mean().item():.4f}")
