r"""Trains a piano transcriber whose loss has large spikes, with clipping in the loop.

Source: https://github.com/jongwook/onsets-and-frames/issues/24
    https://github.com/awslabs/graphstorm/issues/1366
Fault: clip_grad_norm_ is called after optimizer.step(), so the step uses the unclipped gradients,
    the clipping does nothing and the weights are thrown off by the spikes.
Cause:
    clip\w*\b.*\b(after|before|order|effect|nothing|late|never|useless)|(after|before)\b.*\bclip|unclipped
Place: clip_grad_norm_|clip_gradient_norm
"""

import torch
from torch import nn

torch.manual_seed(2)
clip_gradient_norm = 3


class OnsetStack(nn.Module):
    def __init__(self, mels=16, units=24, notes=12):
        super().__init__()
        self.rnn = nn.GRU(mels, units, batch_first=True)
        self.onset = nn.Linear(units, notes)
        self.velocity = nn.Linear(units, notes)

    def forward(self, mel):
        h, _ = self.rnn(mel)
        return self.onset(h), self.velocity(h)


mel = torch.randn(192, 12, 16)
onset = (mel[..., :12] > 1).float()
velocity = mel[..., 4:] * onset
velocity[::16] *= 5000  # a few files with raw velocities
model = OnsetStack()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for i in range(72):
    rows = torch.randint(0, 192, (8,))
    pred_onset, pred_velocity = model(mel[rows])
    losses = {
        "onset": nn.functional.binary_cross_entropy_with_logits(pred_onset, onset[rows]),
        "velocity": (onset[rows] * (pred_velocity - velocity[rows]) ** 2).mean(),
    }
    loss = sum(losses.values())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if clip_gradient_norm:
        nn.utils.clip_grad_norm_(model.parameters(), clip_gradient_norm)  # here
    if i % 6 == 0:
        print(i, *(f"{k} {v.item():.4f}" for k, v in losses.items()))
