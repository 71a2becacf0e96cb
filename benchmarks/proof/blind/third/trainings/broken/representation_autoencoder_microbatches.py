r"""Latent decoder trained with gradient accumulation over microbatches.

Source: https://github.com/bytetriper/RAE/issues/67
Fault: zero_grad runs for every microbatch, so only the last one of four counts.
Cause: zero_grad.*(every|each|micro|accum|inside|before)
    |accumul.*(clear|zero|lost|wiped|discard|reset|no effect)
    |(discard|clear|erase|overwr)\w*.*grad
Place: zero_grad|optimizer|accum
"""

import torch
from torch import nn

torch.manual_seed(0)
images = torch.rand(512, 48)
decoder = nn.Sequential(nn.Linear(48, 12), nn.GELU(), nn.Linear(12, 48))
optimizer = torch.optim.AdamW(decoder.parameters(), lr=2e-3)
grad_accum_steps = 4
norms = []
for epoch in range(6):
    for micro, batch in enumerate(images[torch.randperm(512)].split(16)):
        optimizer.zero_grad(set_to_none=True)  # here
        loss = (decoder(batch) - batch).pow(2).mean() / grad_accum_steps
        loss.backward()
        if (micro + 1) % grad_accum_steps == 0:
            norms.append(sum(p.grad.norm().item() for p in decoder.parameters()))
            optimizer.step()
print(f"mean gradient {sum(norms) / len(norms):.4f} loss {loss.item() * grad_accum_steps:.4f}")
