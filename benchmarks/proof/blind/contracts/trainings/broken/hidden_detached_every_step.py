r"""A training of `Memory`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
Fault: The hidden state is detached at every time step, so no gradient flows through time and the
    recurrent part cannot learn dependencies.
Cause: detach\w*|through time|truncat\w*|(grad\w*).{0,80}(time|step|flow|recurren)
"""

import torch
from torch import nn

torch.manual_seed(274)
T, DELAY = 24, 4


def batch(n):
    bits = torch.randint(0, 2, (n, T))
    target = torch.roll(bits, DELAY, 1)
    return bits, target


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(2, 8)
        self.cell = nn.GRUCell(8, 32)
        self.out = nn.Linear(32, 2)

    def forward(self, bits, h):
        outs = []
        for t in range(bits.size(1)):
            h = self.cell(self.emb(bits[:, t]), h)
            outs.append(self.out(h))
            h = h.detach()
        return torch.stack(outs, 1), h


model = Memory()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(60):
    bits, target = batch(32)
    h = torch.zeros(32, 32)
    loss = 0.0
    for a in range(0, T, 12):
        logits, h = model(bits[:, a:a + 12], h)
        part = nn.functional.cross_entropy(logits[:, DELAY:].flatten(0, 1), target[:, a + DELAY:a + 12].flatten())
        opt.zero_grad()
        part.backward()
        opt.step()
        h = h.detach()
        loss += part.item() / 2
    if step % 15 == 14:
        print(f"step {step + 1} loss {loss:.4f}")
