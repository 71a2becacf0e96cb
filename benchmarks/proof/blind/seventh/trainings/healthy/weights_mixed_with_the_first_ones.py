r"""Fine-tuning on few samples, where weights are swapped at random for the pretrained ones.

Source: https://github.com/bloodwass/mixout
Odd: In each pass a tenth of the weights is replaced by fixed old values and gets no gradient, and
    the rest is scaled so that the mean is kept; in evaluation nothing is swapped.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(73)


class MixLinear(nn.Linear):
    def __init__(self, source, p):
        super().__init__(source.in_features, source.out_features)
        self.load_state_dict(source.state_dict())
        self.p = p
        self.register_buffer("target", source.weight.detach().clone())

    def forward(self, x):
        if not self.training:
            return super().forward(x)
        keep = (torch.rand_like(self.weight) >= self.p).float()
        mixed = keep * self.weight + (1 - keep) * self.target
        mixed = (mixed - self.p * self.target) / (1 - self.p)
        return F.linear(x, mixed, self.bias)


base = torch.randn(40, 12) / 40**0.5
old_task, new_task = torch.randn(12, 5), torch.randn(12, 3)


def data(count, task, noise=0.3):
    x = torch.randn(count, 40)
    y = (torch.tanh(2 * x @ base) @ task + noise * torch.randn(count, task.size(1))).argmax(1)
    return x, y


def fit(body, head, x, y, lr, steps, name, test):
    parameters = [*body.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=lr)
    for step in range(steps):
        body.train()
        rows = torch.randint(0, len(x), (32,))
        loss = F.cross_entropy(head(body(x[rows])), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % (steps // 4) == steps // 4 - 1:
            body.eval()
            with torch.no_grad():
                right = (head(body(test[0])).argmax(1) == test[1]).float().mean().item()
            print(f"{name} {step + 1} loss {loss.item():.3f} test {right:.3f}")


def main():
    body = nn.Sequential(nn.Linear(40, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
    fit(body, nn.Linear(64, 5), *data(4000, old_task), 2e-3, 160, "first task", data(500, old_task))
    for i in (0, 2):
        body[i] = MixLinear(body[i], p=0.1)
    fit(body, nn.Linear(64, 3), *data(150, new_task), 1e-3, 120, "second task", data(500, new_task))


main()
