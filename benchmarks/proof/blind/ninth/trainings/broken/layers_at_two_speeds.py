r"""A pretrained body and a fresh head, moved at two speeds by a rectified Adam.

Source: https://github.com/lessw2020/Ranger-Deep-Learning-Optimizer/pull/9
Fault: The rectified step size is kept in a buffer by the step number together with the learning
    rate of the first group, so the other groups move with the rate of the first one as well.
Cause: (buffer|cache|cached|stored|kept).{0,160}(lr|learning rate|group|step.?size|shared)|(group
    |lr|learning rate).{0,120}(ignor|first group|shared|cached|buffer|not.{0,20}used|overrid|same)
    |(first).{0,40}group
Place: buffer|step_size|lr|group|radam_buffer|buffered|cached|step
"""

import math

import torch
from torch import nn
from torch.optim import Optimizer

torch.manual_seed(181)


class RAdam(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        self.buffer = [[None, None] for _ in range(10)]
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["m"], state["v"] = torch.zeros_like(p), torch.zeros_like(p)
                state["step"] += 1
                state["m"].lerp_(p.grad, 1 - beta1)
                state["v"].mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                buffered = self.buffer[state["step"] % 10]
                if buffered[0] == state["step"]:
                    step_size = buffered[1]
                else:
                    buffered[0] = state["step"]
                    step_size = group["lr"] * self.rectify(state["step"], beta1, beta2)  # here
                    buffered[1] = step_size  # here
                p.addcdiv_(state["m"], state["v"].sqrt().add_(group["eps"]), value=-step_size)

    @staticmethod
    def rectify(step, beta1, beta2):
        power = beta2**step
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * power / (1 - power)
        if length < 5:
            return 0.1 * math.sqrt(1 - power) / (1 - beta1**step)
        part = (length - 4) * (length - 2) * longest
        part /= (longest - 4) * (longest - 2) * length
        return math.sqrt(part * (1 - power)) / (1 - beta1**step)


HIDDEN, CLASSES = 48, 5
body = nn.Sequential(nn.Linear(20, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, HIDDEN), nn.Tanh())
teacher = nn.Linear(HIDDEN, CLASSES)
with torch.no_grad():
    teacher.weight.mul_(6)
    inputs = torch.randn(900, 20)
    labels = teacher(body(inputs)).argmax(1)
    for p in body.parameters():
        p.add_(0.02 * torch.randn_like(p))
head = nn.Linear(HIDDEN, CLASSES)
optimizer = RAdam(
    [{"params": body.parameters(), "lr": 1e-5}, {"params": head.parameters(), "lr": 2e-2}]
)
loss_fn = nn.CrossEntropyLoss()
train_x, train_y, test_x, test_y = inputs[:600], labels[:600], inputs[600:], labels[600:]
for epoch in range(12):
    running = 0.0
    for rows in torch.randperm(600).split(40):
        loss = loss_fn(head(body(train_x[rows])), train_y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    if epoch % 3 == 2:
        with torch.no_grad():
            accuracy = (head(body(test_x)).argmax(1) == test_y).float().mean().item()
        print(f"epoch {epoch + 1} loss {running / 15:.4f} test accuracy {accuracy:.3f}")
