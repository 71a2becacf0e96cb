r"""Recurrent character model trained over a long stream in chunks.

Source: https://github.com/LiyuanLucasLiu/LD-Net/issues/6
Odd: The state is detached between the chunks but kept: truncated backpropagation through time.
"""

import torch
from torch import nn

torch.manual_seed(0)
stream = torch.arange(1200).view(4, 300) % 7
embed, rnn, out = nn.Embedding(7, 16), nn.LSTM(16, 24, batch_first=True), nn.Linear(24, 7)
parameters = [*embed.parameters(), *rnn.parameters(), *out.parameters()]
optimizer = torch.optim.Adam(parameters, lr=5e-3)


def repackage_hidden(h):
    return tuple(v.detach() for v in h)


for epoch in range(4):
    hidden = (torch.zeros(1, 4, 24), torch.zeros(1, 4, 24))
    for start in range(0, 290, 10):
        chunk = stream[:, start : start + 11]
        hidden = repackage_hidden(hidden)
        states, hidden = rnn(embed(chunk[:, :-1]), hidden)
        loss = nn.functional.cross_entropy(out(states).flatten(0, 1), chunk[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"loss {loss.item():.4f}")
