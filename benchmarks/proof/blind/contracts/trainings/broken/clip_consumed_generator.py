r"""A training of `CharGRU`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
Fault: model.parameters() is stored once as a generator and used up by the optimizer, so clipping
    later iterates over nothing.
Cause: generator|exhaust|consumed|used up|iterator|empty
    |clip\w*.{0,80}(no (effect|param)|nothing|never|zero param|0 param)
"""

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

torch.manual_seed(12)
L, V = 24, 8
trans = torch.softmax(2.5 * torch.randn(V, V), 1)
seqs = torch.zeros(300, L, dtype=torch.long)
seqs[:, 0] = torch.randint(V, (300,))
for k in range(1, L):
    seqs[:, k] = torch.multinomial(trans[seqs[:, k - 1]], 1).squeeze(1)


class CharGRU(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, 16)
        self.gru = nn.GRU(16, 32, batch_first=True)
        self.out = nn.Linear(32, V)

    def forward(self, ids):
        return self.out(self.gru(self.emb(ids))[0])


net = CharGRU()
params = net.parameters()
opt = torch.optim.SGD(params, lr=2.0)
for step in range(60):
    ids = seqs[torch.randint(0, 300, (32,))]
    logits = net(ids[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, V), ids[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    clip_grad_norm_(params, 0.25)
    opt.step()
    if step % 15 == 14:
        print(f"step {step + 1} nll {loss.item():.4f}")
