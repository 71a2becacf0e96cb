r"""Federated rounds in which each client fits its own model and the server averages.

Source: https://github.com/CharlieDinh/pFedMe/issues/11
Fault: The learning rate of the clients is much too large, so the loss grows until it is not finite.
Cause: learning rate|\blr\b|step size|overshoot\w*|(steps?|updates?) .*too (large|big)
Place: \blr\b|\bLOCAL_RATE\b
"""

import copy

import torch
from torch import nn

LOCAL_RATE = 0.5  # here
torch.manual_seed(0)


def make_clients(count):
    common = torch.randn(8, 1)
    for _ in range(count):
        x = 2 * torch.randn(80, 8)
        own = common + 0.2 * torch.randn(8, 1)
        yield x, torch.sin(x @ own / 4) + x @ own / 2


def local_training(model, x, y, steps=5):
    model = copy.deepcopy(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=LOCAL_RATE)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    return model.state_dict(), loss.item()


clients = list(make_clients(5))
server = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
for round_number in range(15):
    states, losses = zip(*(local_training(server, x, y) for x, y in clients), strict=True)
    mean = {key: torch.stack([s[key] for s in states]).mean(0) for key in states[0]}
    server.load_state_dict(mean)
print(f"mean loss of the clients in the last round: {sum(losses) / len(losses):.4f}")
