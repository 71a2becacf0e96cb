from torch import nn


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, width), nn.ELU())
        self.head = nn.Linear(width, 1)

    def forward(self, x, *, scale=1.0):
        return self.head(self.body(x)) * scale
