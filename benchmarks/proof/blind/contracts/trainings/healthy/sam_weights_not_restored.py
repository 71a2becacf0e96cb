r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.vector_to_parameters.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

torch.manual_seed(272)
mu = torch.randn(4, 14)
lab = torch.randint(4, (640,))
x = mu[lab] + 1.1 * torch.randn(640, 14)
model = nn.Sequential(nn.Linear(14, 48), nn.ReLU(), nn.Linear(48, 4))
params = list(model.parameters())
opt = torch.optim.SGD(params, lr=0.02, momentum=0.9)
ce = nn.CrossEntropyLoss()
RHO = 0.3


def loss_backward(idx):
    opt.zero_grad()
    loss = ce(model(x[idx]), lab[idx])
    loss.backward()
    return loss.item()


for epoch in range(10):
    for idx in torch.randperm(512).split(64):
        loss = loss_backward(idx)
        with torch.no_grad():
            w = parameters_to_vector(params)
            g = parameters_to_vector([p.grad for p in params])
            vector_to_parameters(w + RHO * g / (g.norm() + 1e-12), params)
        loss_backward(idx)
        vector_to_parameters(w, params)
        opt.step()
    print(f"epoch {epoch} loss {loss:.4f}")
with torch.no_grad():
    out = model(x[512:])
print("test loss", ce(out, lab[512:]).item(), "acc", (out.argmax(1) == lab[512:]).float().mean().item())
