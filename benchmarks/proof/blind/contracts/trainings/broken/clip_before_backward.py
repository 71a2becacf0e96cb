r"""A training of `Adder`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
Fault: clip_grad_norm_ is called before backward, when no gradients exist, so the gradients used
    by the step are never clipped.
Cause: clip\w*.{0,120}(before|backward|no (effect|grad)|empty|not (clipped|limit|effective)|stale|order|too early)
    |(un|not |never )clipped
"""

import torch
from torch import nn

torch.manual_seed(9)
T, B = 30, 32


def make_batch():
    seq = torch.rand(B, T, 2)
    seq[:, :, 1] = 0
    pos = torch.stack([torch.randperm(T)[:2] for _ in range(B)])
    seq[torch.arange(B)[:, None], pos, 1] = 1
    total = (seq[:, :, 0] * seq[:, :, 1]).sum(1)
    return seq, total


class Adder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(2, 32, batch_first=True)
        self.head = nn.Linear(32, 1)

    def forward(self, s):
        out, _ = self.rnn(s)
        return self.head(out[:, -1]).squeeze(-1)


model = Adder()
opt = torch.optim.SGD(model.parameters(), lr=0.2)
for step in range(100):
    seq, total = make_batch()
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(seq), total)
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, f"{loss.item():.4f}")
print("last", f"{loss.item():.4f}")
