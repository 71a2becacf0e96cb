r"""Speeds at the sensors of a motorway over the next hour from the hour before.

Source: https://github.com/dmlc/dgl/issues/5802
Fault: With teacher forcing the decoder gets the true speed of the very step that it has to predict
    and not that of the step before, so it learns to copy its input.
Cause: (teacher|decoder|input|target|truth|true).{0,120}(same (step|time)|current|copy|copies
    |previous|step before|shift|off by one|leak|itself|very step|identity|i ?- ?1|not shifted)
    |(copy|copies|copying|leak|shift|previous|off by one).{0,80}(target|input|teacher|step|truth)
Place: teacher_states|decoder|inputs|teacher|targets|forward
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(58)
SENSORS, PAST, AHEAD = 6, 12, 8
near = torch.softmax(-(torch.arange(SENSORS)[:, None] - torch.arange(SENSORS)[None]).abs() * 1.5, 1)


def traffic(count):
    phase = 6.28 * torch.rand(count, 1, 1)
    pace = 0.3 + 0.3 * torch.rand(count, 1, 1)
    steps = torch.arange(PAST + AHEAD)[None, :, None]
    lag = 0.4 * torch.arange(SENSORS)[None, None]
    speed = torch.sin(pace * steps + phase - lag)
    return speed + 0.05 * torch.randn(count, PAST + AHEAD, SENSORS)


class Seq2Seq(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.encoder = nn.GRUCell(SENSORS, dim)
        self.decoder = nn.GRUCell(SENSORS, dim)
        self.out = nn.Linear(dim, SENSORS)

    def forward(self, inputs, teacher_states=None, teacher_rate=0.0):
        hidden = torch.zeros(len(inputs), 48)
        for i in range(PAST):
            hidden = self.encoder(inputs[:, i] @ near, hidden)
        state, outputs = inputs[:, -1], []
        for i in range(AHEAD):
            if teacher_states is not None and torch.rand(()) < teacher_rate:
                state = teacher_states[:, i]  # here
            hidden = self.decoder(state @ near, hidden)
            state = self.out(hidden)
            outputs.append(state)
        return torch.stack(outputs, 1)


model = Seq2Seq()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
test = traffic(200)
for step in range(220):
    batch = traffic(64)
    outputs = model(batch[:, :PAST], batch[:, PAST:], teacher_rate=0.9)
    loss = F.l1_loss(outputs, batch[:, PAST:])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 44 == 43:
        with torch.no_grad():
            error = F.l1_loss(model(test[:, :PAST]), test[:, PAST:]).item()
        print(f"step {step + 1} loss {loss.item():.4f} error of the forecast {error:.4f}")
