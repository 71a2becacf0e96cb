r"""Trains an acoustic model with gradients accumulated over many small batches.

Source: https://github.com/hirofumi0810/neural_sp/issues/168
    https://github.com/agokrani/distillKitPlus/issues/5
Fault: the losses are not divided by the number of accumulated batches, so the gradient is sixteen
    times too large for the learning rate and the loss diverges.
Cause: accum\w*\b.*(divid|averag|scale|normali)|(divid|averag|scale|normali)\w*\b.*\baccum|times
    too large
Place: accum_grad_n_steps|loss\.backward
"""

import torch
from torch import nn

torch.manual_seed(15)
accum_grad_n_steps = 16


class AcousticModel(nn.Module):
    def __init__(self, mels=16, units=32, phones=8):
        super().__init__()
        self.conv = nn.Conv1d(mels, units, 5, padding=2)
        self.out = nn.Linear(units, phones)

    def forward(self, xs):
        return self.out(self.conv(xs.transpose(1, 2)).relu().transpose(1, 2))


emission = torch.randn(8, 16)
ys = torch.randint(0, 8, (512, 20))
xs = emission[ys] + 0.7 * torch.randn(512, 20, 16)
model = AcousticModel()
optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
accum_n_steps, losses = 0, []
for n_iter in range(320):
    rows = torch.randint(0, 512, (4,))
    logits = model(xs[rows])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), ys[rows].flatten())
    loss.backward()  # here
    losses.append(loss.item())
    accum_n_steps += 1
    if accum_n_steps >= accum_grad_n_steps:
        optimizer.step()
        optimizer.zero_grad()
        accum_n_steps = 0
        print(f"update {(n_iter + 1) // 16} loss {sum(losses) / len(losses):.4f}")
        losses = []
