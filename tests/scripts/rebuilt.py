"""Progressive growing: the net is built after some data was seen, and replaced by a deeper one."""

import gc
import os
import sys

import torch


def build(depth, state=None):
    layers = []
    for _ in range(depth):
        layers += [torch.nn.Linear(4, 4), torch.nn.Tanh()]
    grown = torch.nn.Sequential(*layers, torch.nn.Linear(4, 1))
    if state:
        own = grown.state_dict()
        own.update({k: v for k, v in state.items() if k in own and own[k].shape == v.shape})
        grown.load_state_dict(own)
    return grown


torch.manual_seed(8)
net, optimizer = None, None
for epoch in range(3):
    samples = torch.randn(32, 4)
    answer = samples.prod(1, keepdim=True)
    if epoch == 0:
        print("mean of the data", samples.mean().item())
        continue
    state = net.state_dict() if net is not None else None
    del net, optimizer
    gc.collect()
    net = build(epoch, state)
    optimizer = torch.optim.RMSprop(net.parameters(), lr=0.01)
    for i in range(4):
        optimizer.zero_grad()
        loss = (net(samples) - answer).pow(2).mean()
        loss.backward()
        # truth: before(f"net of epoch {epoch}", optimizer, loss)
        optimizer.step()
        # truth: after(f"net of epoch {epoch}")
        sys.stdout.write("%d.%d %.7f\n" % (epoch, i, loss.item()))
torch.save(net.state_dict(), os.environ.get("WEIGHTS", "net.pt"))
