import sys

import torch

from . import train
from .model import Net

if __name__ == "__main__":
    print("argv", sys.argv[1:], "package", __package__, "spec", __spec__.name)
    torch.manual_seed(int(sys.argv[2]))
    net = Net(5)
    train.fit(net, epochs=2)
    torch.save(net.state_dict(), sys.argv[1])
