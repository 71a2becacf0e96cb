import os
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 2)

    def forward(self, x):
        return self.second(self.first(x).relu())


def train_step(net, optimizer, x):
    loss = net(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    # truth: before("net", optimizer, loss)
    optimizer.step()
    # truth: after("net")
    return loss.item()


def main():
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    try:
        for step in range(10):
            features = 5 if step == 4 else 4  # a batch of the wrong width
            print(step, train_step(net, optimizer, torch.randn(3, features)))
    finally:
        torch.save(net.state_dict(), os.environ["WEIGHTS"])


if __name__ == "__main__":
    main()
