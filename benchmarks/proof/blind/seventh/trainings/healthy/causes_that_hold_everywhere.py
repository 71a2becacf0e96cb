r"""A cause that holds in all places against a shortcut that holds only in some.

Source: https://github.com/facebookresearch/InvariantRiskMinimization
Odd: The gradient with respect to a constant one is penalised, the weight of the penalty jumps
    from one to ten thousand half way, the loss is then divided by it, and training accuracy falls
    by design.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import grad

torch.manual_seed(76)
FLAGS = {"hidden": 32, "l2": 1e-3, "lr": 5e-3, "anneal": 60, "weight": 1e4, "steps": 400}


def make_environment(count, shortcut_error):
    cause = torch.randn(count, 6)
    y = (cause.sum(1) > 0).float()
    flip = (torch.rand(count) < 0.25).float()
    y = (y - flip).abs()
    wrong = (torch.rand(count) < shortcut_error).float()
    shortcut = 2 * (y - wrong).abs() - 1
    x = torch.cat([cause, shortcut[:, None] + 0.1 * torch.randn(count, 1)], 1)
    return x, y[:, None]


def penalty(logits, y):
    scale = torch.tensor(1.0, requires_grad=True)
    loss = F.binary_cross_entropy_with_logits(logits * scale, y)
    return grad(loss, [scale], create_graph=True)[0].square()


def accuracy(logits, y):
    return ((logits > 0).float() == y).float().mean().item()


environments = [make_environment(1500, 0.1), make_environment(1500, 0.2)]
test_x, test_y = make_environment(2500, 0.9)
mlp = nn.Sequential(
    nn.Linear(7, FLAGS["hidden"]), nn.ReLU(), nn.Linear(FLAGS["hidden"], 1)
)
optimizer = torch.optim.Adam(mlp.parameters(), lr=FLAGS["lr"])
for step in range(FLAGS["steps"]):
    logits = [mlp(x) for x, _ in environments]
    pairs = [(o, y) for o, (_, y) in zip(logits, environments)]
    nll = sum(F.binary_cross_entropy_with_logits(o, y) for o, y in pairs) / 2
    invariance = sum(penalty(o, y) for o, y in pairs) / 2
    l2 = sum(w.norm().square() for w in mlp.parameters())
    weight = FLAGS["weight"] if step >= FLAGS["anneal"] else 1.0
    loss = nll + FLAGS["l2"] * l2 + weight * invariance
    if weight > 1.0:
        loss = loss / weight
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        train = sum(accuracy(o, y) for o, y in pairs) / 2
        with torch.no_grad():
            test = accuracy(mlp(test_x), test_y)
        print(
            f"{step + 1} nll {nll.item():.3f} penalty {invariance.item():.6f} "
            f"train {train:.3f} test {test:.3f}"
        )
