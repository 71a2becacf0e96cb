"""The parent trains; forked children evaluate copies of the model, and train a little too."""

import os
import sys
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def step():
    loss = model(torch.randn(4, 3)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    # truth: before("model", optimizer, loss)
    optimizer.step()
    # truth: after("model")
    return loss.item()


for i in range(4):
    print("parent", i, step(), flush=True)
    if i % 2:
        pid = os.fork()
        if pid == 0:
            # truth: stop()
            for j in range(2):
                print("child", i, j, step(), flush=True)
            sys.exit(i)  # through atexit, as many do
        print("child ended with", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
torch.save(model.state_dict(), sys.argv[1])
