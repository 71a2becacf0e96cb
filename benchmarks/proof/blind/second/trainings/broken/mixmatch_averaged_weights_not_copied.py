r"""Keeps an average of the weights and copies it to the model for the evaluation.

Source: https://github.com/YU1ut/MixMatch-pytorch/pull/23
Fault: the loop assigns the averaged parameter to the loop variable instead of copying its values,
    so the evaluated model is not the averaged one.
Cause: copy_|assign|loop variable|\breference|not cop(y|ied)|\bema\w*\b.*\b(never|not)\b|averaged
Place: ema_param|WeightEMA|ema\.step
"""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(300, 10)
y = (x[:, 0] - x[:, 1] > 0).long()
y = torch.where(torch.rand(300) < 0.25, 1 - y, y)
test_x = torch.randn(500, 10)
test_y = (test_x[:, 0] - test_x[:, 1] > 0).long()


def create_model():
    return nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 2))


class WeightEMA:
    def __init__(self, model, ema_model, alpha=0.99):
        self.model, self.ema_model, self.alpha = model, ema_model, alpha
        ema_model.load_state_dict(model.state_dict())

    def step(self, bn=False):
        pairs = zip(self.model.parameters(), self.ema_model.parameters(), strict=True)
        if bn:
            for param, ema_param in pairs:
                param = ema_param  # here
        else:
            for param, ema_param in pairs:
                ema_param.data.mul_(self.alpha).add_(param.data, alpha=1 - self.alpha)


model, ema_model = create_model(), create_model()
ema = WeightEMA(model, ema_model)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)


def accuracy(net):
    with torch.no_grad():
        return (net(test_x).argmax(1) == test_y).float().mean().item()


for step in range(150):
    rows = torch.randint(0, 300, (20,))
    loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.step()
    if step % 30 == 29:
        print(f"step {step} loss {loss.item():.4f} model {accuracy(model):.3f}")
ema.step(bn=True)
print(f"evaluated {accuracy(model):.3f} averaged {accuracy(ema_model):.3f}")
