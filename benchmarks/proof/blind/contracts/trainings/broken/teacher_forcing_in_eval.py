r"""A training of `Seq2Seq`.

Source: https://docs.pytorch.org/tutorials/intermediate/seq2seq_translation_tutorial.html
Fault: The decoder is evaluated with teacher forcing, fed with the true previous outputs, so its
    errors never propagate and the score is too good.
Cause: teacher.?forc|ground.?truth|true (previous|token|output|target)
    |(eval|test|valid)\w*.{0,100}(target|truth|free.?run|autoregress)
"""

import torch
from torch import nn

torch.manual_seed(144)
T_IN, T_OUT = 12, 8


def waves(n):
    f, p = 0.3 + 0.5 * torch.rand(n, 1), 6.28 * torch.rand(n, 1)
    s = torch.sin(f * torch.arange(T_IN + T_OUT) + p) + 0.05 * torch.randn(n, T_IN + T_OUT)
    return s[:, :T_IN, None], s[:, T_IN:, None]


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.GRU(1, 24, batch_first=True)
        self.dec = nn.GRUCell(1, 24)
        self.out = nn.Linear(24, 1)

    def forward(self, src, tgt=None):
        h = self.enc(src)[1][0]
        prev, outs = src[:, -1], []
        for t in range(T_OUT):
            h = self.dec(prev, h)
            o = self.out(h)
            outs.append(o)
            prev = o if tgt is None else tgt[:, t]
        return torch.stack(outs, 1)


model = Seq2Seq()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(80):
    src, tgt = waves(32)
    loss = nn.functional.mse_loss(model(src, tgt), tgt)
    opt.zero_grad()
    loss.backward()
    opt.step()
model.eval()
src, tgt = waves(200)
with torch.no_grad():
    pred = model(src, tgt)
print("forecast mse", nn.functional.mse_loss(pred, tgt).item())
