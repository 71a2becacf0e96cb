r"""A recurrent network whose gradients are clipped in every step.

Source: https://github.com/pytorch/examples/blob/main/word_language_model/main.py
Odd: The norm of the gradients is always above the limit of 0.25, so each step is scaled down; with
    a learning rate chosen for it, the loss falls.
"""

import torch
from torch import nn

torch.manual_seed(0)
rnn, out = nn.RNN(1, 32, batch_first=True), nn.Linear(32, 1)
params = [*rnn.parameters(), *out.parameters()]
optimizer = torch.optim.SGD(params, lr=0.3, momentum=0.5)
for step in range(250):
    x = torch.randn(32, 6, 1)
    target = 5 * x.sum(1)
    loss = (out(rnn(x)[0][:, -1]) - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(params, 0.25)
    optimizer.step()
    if step % 50 == 0 or step == 249:
        print(f"step {step} loss {loss.item():.3f} norm before the clipping {norm.item():.2f}")
