r"""Trains a talking-head regressor with micro-batches of two and accumulation over sixteen.

Source: https://github.com/ZiqiaoPeng/DualTalk/issues/9
    https://github.com/dscripka/openWakeWord/issues/316
Fault: The gradients are cleared before every micro-batch, so a step sees only the last of sixteen.
Cause: zero_grad|accumul.*(clear|lost|discard|reset)|(clear|discard|reset)\w*.*(accumul|grad)
"""

import torch
from torch import nn


class Talker(nn.Module):
    def __init__(self):
        super().__init__()
        self.audio = nn.GRU(5, 24, batch_first=True)
        self.face = nn.Linear(24, 6)

    def forward(self, audio):
        return self.face(self.audio(audio)[0])


class Args:
    lr = 0.05
    gradient_accumulation_steps = 16
    steps = 480


def trainer(args, model, mix):
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    optimizer.zero_grad()
    loss_log = []
    for i in range(1, args.steps + 1):
        audio = torch.randn(2, 6, 5)
        motion = torch.tanh(audio.cumsum(1) @ mix) + 2.0 * torch.randn(2, 6, 6)
        loss = nn.functional.mse_loss(model(audio), motion) / args.gradient_accumulation_steps
        optimizer.zero_grad()  # here
        loss.backward()
        loss_log.append(loss.item() * args.gradient_accumulation_steps)
        if i % args.gradient_accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
        if i % 96 == 0:
            print(f"iter {i} loss {sum(loss_log[-96:]) / 96:.4f}")


torch.manual_seed(0)
model, mix = Talker(), torch.randn(5, 6)
trainer(Args, model, mix)
audio = torch.randn(256, 6, 5)
error = (model(audio) - torch.tanh(audio.cumsum(1) @ mix)).pow(2).mean().item()
print(f"error without noise {error:.4f}")
