r"""Trains a representation decoder with gradient accumulation over micro-batches.

Source: https://github.com/bytetriper/RAE/issues/67
    https://github.com/tatsu-lab/alpaca_farm/issues/57
Fault: zero_grad() is inside the loop over micro-batches, so only the gradient of the last
    micro-batch reaches the step and it is divided by the count as well.
Cause: zero_grad|accumulat|micro.?batch|gradients?\b.*\b(discard|clear|reset|thrown|lost)
Place: zero_grad
"""

import torch
from torch import nn

torch.manual_seed(3)
ACCUM = 8
latents = torch.randn(256, 12)
images = torch.tanh(latents @ torch.randn(12, 48) / 3)
decoder = nn.Sequential(nn.Linear(12, 64), nn.GELU(), nn.Linear(64, 48))
optimizer = torch.optim.SGD(decoder.parameters(), lr=1.0)


def micro_batches():
    while True:
        for rows in torch.randperm(256).split(8):
            yield latents[rows], images[rows]


stream = micro_batches()
for step in range(40):
    step_loss = 0.0
    for _ in range(ACCUM):
        z, x = next(stream)
        optimizer.zero_grad(set_to_none=True)  # here
        loss = (decoder(z) - x).abs().mean() / ACCUM
        loss.backward()
        step_loss += loss.item()
    optimizer.step()
    if step % 5 == 0:
        print(f"step {step} l1 {step_loss:.4f}")
