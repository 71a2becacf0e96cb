"""Muon for the matrices and AdamW for the rest, in the style of modded-nanogpt."""

import json

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(30)


def zeropower_via_newtonschulz5(G, steps=5):
    a, b, c = (3.4445, -4.7750, 2.0315)
    X = G.bfloat16()
    if G.size(-2) > G.size(-1):
        X = X.mT
    X = X / (X.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        A = X @ X.mT
        X = a * X + (b * A + c * A @ A) @ X
    return X.mT if G.size(-2) > G.size(-1) else X


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.95, nesterov=True):
        super().__init__(params, {"lr": lr, "momentum": momentum, "nesterov": nesterov})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                g = p.grad
                state = self.state[p]
                if "momentum_buffer" not in state:
                    state["momentum_buffer"] = torch.zeros_like(g)
                buf = state["momentum_buffer"]
                buf.lerp_(g, 1 - group["momentum"])
                g = g.lerp_(buf, group["momentum"]) if group["nesterov"] else buf
                update = zeropower_via_newtonschulz5(g).to(p.dtype)
                p.add_(update, alpha=-group["lr"] * max(1, p.size(-2) / p.size(-1)) ** 0.5)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.c_fc = nn.Linear(dim, 4 * dim, bias=False)
        self.c_proj = nn.Linear(4 * dim, dim, bias=False)
        self.c_proj.weight.data.zero_()

    def forward(self, x):
        return x + self.c_proj(F.relu(self.c_fc(F.rms_norm(x, (x.size(-1),)))).square())


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(16, 32)
        self.blocks = nn.ModuleList([Block(32) for _ in range(3)])
        self.lm_head = nn.Linear(32, 16, bias=False)
        self.lm_head.weight.data.zero_()

    def forward(self, idx):
        x = self.embed(idx)
        for block in self.blocks:
            x = block(x)
        return self.lm_head(F.rms_norm(x, (x.size(-1),)))


model = Model()
hidden = [p for p in model.blocks.parameters() if p.ndim >= 2]
other = [*model.embed.parameters(), *model.lm_head.parameters()]
optimizers = [
    torch.optim.AdamW(other, lr=3e-3, betas=(0.9, 0.95)), Muon(hidden, lr=0.02)
]  # fmt: skip
table = torch.randperm(16)
losses = []
for step in range(80):
    tokens = torch.randint(16, (32,))
    loss = F.cross_entropy(model(tokens), table[tokens])
    loss.backward()
    for opt in optimizers:
        opt.step()
    model.zero_grad(set_to_none=True)
    losses.append(loss.item())
    if step % 20 == 0:
        print(step, loss.item())
print("TRUTH", json.dumps({"model": [None, 80, losses[0], losses[-1]]}))
