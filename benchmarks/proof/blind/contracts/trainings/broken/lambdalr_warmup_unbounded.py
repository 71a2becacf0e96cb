r"""A training of `Tagger`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LambdaLR.html
Fault: The warmup factor step / warmup is not capped at 1, so the learning rate keeps growing for
    the whole training.
Cause: warm.?up.{0,120}(cap|clamp|bound|limit|grow|min|beyond|exceed|past|never|keeps)
    |(grow|increas|ris)\w*.{0,60}(learning rate|lr)
    |(learning rate|lr).{0,80}(grow|increas|ris|above|exceed|unbounded|climb)
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

torch.manual_seed(79)
V, L = 12, 10
rule = torch.randperm(V)


def batch(n):
    s = torch.randint(V, (n, L))
    return s, rule[s]


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, 24)
        layer = nn.TransformerEncoderLayer(24, 2, 48, dropout=0.0, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 1)
        self.out = nn.Linear(24, V)

    def forward(self, s):
        return self.out(self.enc(self.emb(s)))


tagger = Tagger()
warmup_steps = 10
opt = torch.optim.AdamW(tagger.parameters(), lr=5e-3)
sched = LambdaLR(opt, lambda step: (step + 1) / warmup_steps)
for step in range(120):
    s, tags = batch(32)
    loss = nn.functional.cross_entropy(tagger(s).flatten(0, 1), tags.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if step % 20 == 19:
        print(f"step {step + 1} lr {sched.get_last_lr()[0]:.4f} loss {loss.item():.4f}")
