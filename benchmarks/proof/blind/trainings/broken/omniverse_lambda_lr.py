r"""Trains a transformer-style MLP with the schedule of "Attention is all you need".

Source: https://github.com/gao-hongnan/omniverse/issues/82
Fault: The lambda returns a learning rate instead of a factor and the base rate multiplies it once
    more, so the real rate is about 1e-6 and nothing is learned.
Cause: (lambda|factor|multipl|base_?lr|twice|squared)|(learning rate|lr)\b.*(small|tiny|low|1e-)
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import LambdaLR


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.net = nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model))

    def forward(self, x):
        return x + self.net(self.norm(x))


def noam_lr(step, d_model=64, warmup_steps=50):
    step = max(step, 1)
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5) * 0.2


torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(12, 64), FeedForward(64, 128), FeedForward(64, 128), nn.Linear(64, 4)
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98))
scheduler = LambdaLR(optimizer, lr_lambda=noam_lr)  # here
x = torch.randn(512, 12)
y = x[:, :4].abs().argmax(1)
for step in range(200):
    idx = torch.randint(0, 512, (64,))
    loss = F.cross_entropy(model(x[idx]), y[idx])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 40 == 39:
        print(f"step {step} loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.2e}")
