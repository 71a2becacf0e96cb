r"""Follows the hum of a transformer station with a recurrent net over one very long recording.

Source: https://pytorch.org/docs/stable/generated/torch.Tensor.detach.html
Healthy: The hidden state is detached at the start of each chunk and carried on; the gradient is
    cut there on purpose, which is truncated backpropagation through time, and the recording
    must not be shuffled.
"""
import math

import torch
from torch import nn

torch.manual_seed(109)
STREAMS, CHUNK = 16, 25


def recording(length):
    t = torch.arange(length).float()
    phase = torch.rand(STREAMS, 1) * 6.28
    deep = torch.sin(2 * math.pi * t / 12 + phase)
    high = 0.5 * torch.sin(2 * math.pi * t / 31 + 2 * phase)
    return deep + high + 0.1 * torch.randn(STREAMS, length)


class Hum(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.rnn = nn.GRU(1, width, batch_first=True)
        self.out = nn.Linear(width, 1)

    def forward(self, x, state):
        h, state = self.rnn(x, state)
        return self.out(h), state


sound = recording(1201).unsqueeze(2)
model = Hum()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(5):
    state, total, chunks = None, 0.0, 0
    for start in range(0, 1200, CHUNK):
        if state is not None:
            state = state.detach()
        x = sound[:, start:start + CHUNK]
        y = sound[:, start + 1:start + CHUNK + 1]
        guess, state = model(x, state)
        loss = nn.functional.mse_loss(guess, y)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
        chunks += 1
    print(f"pass {epoch}: loss {total / chunks:.4f}")
print(f"error of the last value repeated: {(sound[:, 1:] - sound[:, :-1]).pow(2).mean():.4f}")
