r"""A training of `LM`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
Fault: The cross entropy has no ignore_index, so the padding tokens count as targets in loss and
    perplexity.
Cause: pad\w*|ignore_index|mask
"""

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(138)
PAD, V = 0, 11
nxt = torch.cat([torch.tensor([0]), torch.randperm(V - 1) + 1])


def sentence():
    n = int(torch.randint(4, 25, (1,)))
    w = [int(torch.randint(1, V, (1,)))]
    for _ in range(n):
        w.append(int(nxt[w[-1]]) if torch.rand(1) < 0.8 else int(torch.randint(1, V, (1,))))
    return torch.tensor(w)


corpus = [sentence() for _ in range(240)]


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, 24, padding_idx=PAD)
        self.rnn = nn.GRU(24, 32, batch_first=True)
        self.out = nn.Linear(32, V)

    def forward(self, s):
        return self.out(self.rnn(self.emb(s))[0])


lm = LM()
opt = torch.optim.Adam(lm.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()
for step in range(60):
    pick = torch.randint(0, 240, (24,)).tolist()
    batch = pad_sequence([corpus[i] for i in pick], batch_first=True, padding_value=PAD)
    logits = lm(batch[:, :-1])
    loss = criterion(logits.reshape(-1, V), batch[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 15 == 14:
        print(f"step {step + 1} perplexity {loss.exp().item():.3f}")
