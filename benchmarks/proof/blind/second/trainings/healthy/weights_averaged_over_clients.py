"""Federated averaging: each round starts several clients from the global weights.

Source: https://github.com/AshwinRJ/Federated-Learning-PyTorch/blob/master/src/federated_main.py
Odd: the weights of the global model are replaced at each round without any optimiser, and it never
    gets a gradient; the copies are trained and averaged.
"""

import copy

import torch
from torch import nn

torch.manual_seed(1)
x = torch.randn(800, 10)
y = (x[:, :2].sum(1) > 0).long() + (x[:, 2] > 0).long()
clients = torch.randperm(800).split(160)
global_model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))


def update_weights(model, rows):
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    for _ in range(2):
        for batch in rows[torch.randperm(len(rows))].split(20):
            loss = nn.functional.cross_entropy(model(x[batch]), y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model.state_dict(), loss.item()


def average_weights(states):
    return {k: torch.stack([s[k] for s in states]).mean(0) for k in states[0]}


for round_ in range(6):
    states, losses = [], []
    for rows in clients:
        state, loss = update_weights(copy.deepcopy(global_model), rows)
        states.append(state)
        losses.append(loss)
    global_model.load_state_dict(average_weights(states))
    accuracy = (global_model(x).argmax(1) == y).float().mean().item()
    print(f"round {round_} local loss {sum(losses) / 5:.4f} global accuracy {accuracy:.3f}")
