r"""Three rotated tasks one after the other, with a small memory of the earlier ones.

Source: https://github.com/facebookresearch/GradientEpisodicMemory
Odd: After the backward pass the gradients are replaced by their projection whenever they would
    raise the loss on the memory, so that the step is not along the gradient of the loss that is
    printed.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(5)
centres = 2.0 * torch.randn(6, 12)


def rotated(task, count):
    y = torch.randint(0, 6, (count,))
    return (centres[y] + 1.5 * torch.randn(count, 12)) @ rotations[task], y


def gradient(net, loss):
    net.zero_grad()
    loss.backward()
    return torch.cat([p.grad.flatten() for p in net.parameters()])


def write_back(net, flat):
    start = 0
    for p in net.parameters():
        p.grad.copy_(flat[start : start + p.numel()].view_as(p))
        start += p.numel()


@torch.no_grad()
def accuracies(net, tests):
    return [(net(x).argmax(1) == y).float().mean().item() for x, y in tests]


rotations = [torch.linalg.qr(torch.randn(12, 12))[0] for _ in range(3)]
tests = [rotated(t, 400) for t in range(3)]
net = nn.Sequential(nn.Linear(12, 80), nn.ReLU(), nn.Linear(80, 6))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
memory = []
for task in range(3):
    projected = 0
    for step in range(90):
        x, y = rotated(task, 20)
        loss = F.cross_entropy(net(x), y)
        g = gradient(net, loss)
        if memory:
            old_x = torch.cat([m[0] for m in memory])
            old_y = torch.cat([m[1] for m in memory])
            reference = gradient(net, F.cross_entropy(net(old_x), old_y))
            dot = g @ reference
            if dot < 0:
                g = g - dot / (reference @ reference) * reference
                projected += 1
        write_back(net, g)
        optimizer.step()
    memory.append(rotated(task, 60))
    shown = " ".join(f"{a:.3f}" for a in accuracies(net, tests))
    print(f"after task {task}: loss {loss.item():.3f} projected {projected} accuracies {shown}")
