"""Whole objects of this script are pickled and read back, as many checkpoints are."""

import copy
import inspect
import os
import pickle
import sys

import torch


class Settings:
    def __init__(self, lr):
        self.lr = lr


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 1)

    def forward(self, x):
        return self.fc(x)


class Checkpoint:
    def __init__(self, net, optimizer, settings):
        self.net, self.optimizer, self.settings = net, optimizer, settings


torch.manual_seed(9)
settings = Settings(0.1)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=settings.lr)
for i in range(3):
    loss = net(torch.randn(4, 3)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    # truth: before("net", optimizer, loss)
    optimizer.step()
    # truth: after("net")
    print(i, loss.item())

path = os.environ["WEIGHTS"]
torch.save(Checkpoint(net, optimizer, settings), path)
again = torch.load(path, weights_only=False)
print(type(again).__module__, type(again) is Checkpoint, type(again.net) is Net)
assert pickle.loads(pickle.dumps(settings)).lr == 0.1
twin = copy.deepcopy(net)
print("hooks of the copy:", len(twin._forward_hooks), len(twin.fc._forward_hooks))
print("hooks in the state:", [k for k, v in net.fc.__dict__.items() if "hook" in k and v])
print("attributes of an optimizer:", sorted(again.optimizer.__dict__))
print(__name__, __spec__, __file__.endswith("pickles_itself.py"), "torch" in sys.modules)
print(inspect.getsource(Settings).splitlines()[0], sys.modules["__main__"].Net is Net)
print(sorted(name for name in globals() if not name.startswith("__")))
# the two read-back objects go on with the training
loss = again.net(torch.ones(1, 3)).square().mean()
again.optimizer.zero_grad()
loss.backward()
# truth: before("again", again.optimizer, loss)
again.optimizer.step()
# truth: after("again")
torch.save(again.net.state_dict(), path)
