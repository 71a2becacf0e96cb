"""Workers with their own data send only the signs of their gradients, and the majority counts.

Source: https://github.com/jxbz/signSGD
Odd: All the weights move by the same step in each update whatever the size of the gradient; the
    gradients in .grad are replaced by the sign of a sum of signs.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(269)
WORKERS, CLASSES = 5, 6
means = 1.2 * torch.randn(CLASSES, 20)


def share(count):
    label = torch.randint(0, CLASSES, (count,))
    return means[label] + 1.2 * torch.randn(count, 20), label


class Signum(torch.optim.Optimizer):
    def __init__(self, params, lr, weight_decay=0.0):
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                update = p.grad + group["weight_decay"] * p
                p.add_(update, alpha=-group["lr"])


def local_signs(model, momenta, x, y, momentum=0.9):
    loss = F.cross_entropy(model(x), y)
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    for m, g in zip(momenta, gradients):
        m.mul_(momentum).add_(g, alpha=1 - momentum)
    return [m.sign() for m in momenta], loss.item()


model = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, CLASSES))
optimizer = Signum(model.parameters(), lr=3e-3, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 60, gamma=0.3)
momenta = [[torch.zeros_like(p) for p in model.parameters()] for _ in range(WORKERS)]
shares = [share(400) for _ in range(WORKERS)]
for step in range(150):
    votes, losses = [], []
    for (x, y), momentum in zip(shares, momenta):
        pick = torch.randint(0, len(x), (16,))
        signs, loss = local_signs(model, momentum, x[pick], y[pick])
        votes.append(signs)
        losses.append(loss)
    for p, signs in zip(model.parameters(), zip(*votes)):
        p.grad = torch.stack(signs).sum(0).sign()
    optimizer.step()
    scheduler.step()
    if step % 30 == 0:
        print(f"step {step} loss {sum(losses) / WORKERS:.4f}")
with torch.no_grad():
    x, y = share(2000)
    accuracy = (model(x).argmax(1) == y).float().mean().item()
print(f"loss {sum(losses) / WORKERS:.4f} accuracy {accuracy:.3f}")
