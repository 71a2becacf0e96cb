"""Training scripts of small steps, on the CPU in one thread: a kind and a number of steps.

It writes what its loop took to the file that BENCH_TIMES names.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional


def perceptron(make):
    """Three layers of width 32, batches of 8."""
    net = nn.Sequential(
        nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1)
    )
    x = torch.randn(8, 16)
    y = x.sum(1, keepdim=True)
    optimizer = make(net.parameters())

    def step(_):
        optimizer.zero_grad()
        loss = functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def gan():
    """Two perceptrons, two optimizers, three backward passes in a step."""
    maker = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
    judge = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
    of_maker = torch.optim.Adam(maker.parameters(), lr=1e-3)
    of_judge = torch.optim.Adam(judge.parameters(), lr=1e-3)
    real = torch.randn(16, 16)
    ones, zeros = torch.ones(16, 1), torch.zeros(16, 1)
    loss_of = functional.binary_cross_entropy_with_logits

    def step(_):
        of_judge.zero_grad()
        loss_of(judge(real), ones).backward()
        fake = maker(torch.randn(16, 8))
        loss_of(judge(fake.detach()), zeros).backward()
        of_judge.step()
        of_maker.zero_grad()
        loss = loss_of(judge(fake), ones)
        loss.backward()
        of_maker.step()
        return loss

    return step


class Unrolled(nn.Module):
    """A cell that is called for each element of a sequence: two calls for each."""

    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.LSTMCell(1, 16), nn.Linear(16, 1)

    def forward(self, x):
        state, outputs = None, []
        for part in x.split(1, dim=1):
            state = self.cell(part, state)
            outputs.append(self.head(state[0]))
        return torch.cat(outputs, dim=1)


def lbfgs():
    """20 forwards and backward passes in each step, over a sequence of 300 elements."""
    net = Unrolled()
    x = torch.sin(torch.arange(301) / 10.0 + torch.arange(8.0)[:, None])
    optimizer = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=20)

    def closure():
        optimizer.zero_grad()
        loss = functional.mse_loss(net(x[:, :-1]), x[:, 1:])
        loss.backward()
        return loss

    return lambda _: optimizer.step(closure)


def modules():
    """1,000 layers in a step."""
    net = nn.Sequential(*(nn.Linear(8, 8) for _ in range(1000)))
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    x = torch.randn(4, 8)

    def step(_):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def policy():
    """REINFORCE: 50 forwards with a batch of one, and one backward pass through all of them."""
    net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

    def step(_):
        state, found = torch.randn(1, 4), []
        for _ in range(50):
            chosen = torch.distributions.Categorical(logits=net(state))
            action = chosen.sample()
            found.append(chosen.log_prob(action) * (action.item() - 0.5))
            state = state * 0.9
        loss = torch.cat(found).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def acting():
    """50 forwards with a batch of one under no_grad, and one training step."""
    net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    x = torch.randn(16, 4)

    def step(_):
        state = x[:1]
        with torch.no_grad():
            for _ in range(50):
                state = state * (0.9 + 0.01 * net(state).argmax())
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def evaluation():
    """One step, and 10,000 forwards under no_grad; `step` is 100 of them."""
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
    x = torch.randn(8, 16)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    net(x).square().mean().backward()
    optimizer.step()
    net.eval()

    def step(_):
        with torch.no_grad():
            for _ in range(100):
                found = net(x)
        return found.sum()

    return step


KINDS = {
    "sgd": lambda: perceptron(lambda own: torch.optim.SGD(own, lr=1e-3)),
    "adam": lambda: perceptron(lambda own: torch.optim.Adam(own, lr=1e-3)),
    "gan": gan,
    "lbfgs": lbfgs,
    "modules": modules,
    "policy": policy,
    "acting": acting,
    "evaluation": evaluation,
}


def main():
    kind, steps = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(1)
    torch.manual_seed(0)
    step = KINDS[kind]()
    took = []
    used, clock = time.process_time(), time.perf_counter()
    for i in range(steps):
        begun = time.thread_time()
        loss = step(i)
        took.append(time.thread_time() - begun)
    told = {
        "processor": time.process_time() - used,
        "own": time.perf_counter() - clock,
        "steps": took,
        "loss": loss.item().hex(),
    }
    if "BENCH_TIMES" in os.environ:
        Path(os.environ["BENCH_TIMES"]).write_text(json.dumps(told))


if __name__ == "__main__":
    main()
