r"""One network that works at four widths, for devices of different speed.

Source: https://github.com/JiahuiYu/slimmable_networks
Odd: There are four backward passes per step whose gradients add up; each width has batch
    statistics of its own while the weights are shared, and the narrow ones learn only from the
    widest one's output.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

WIDTHS = (0.25, 0.5, 0.75, 1.0)


class SlimLinear(nn.Linear):
    def forward(self, x, out):
        return F.linear(x, self.weight[:out, : x.size(1)], self.bias[:out])


class SlimNet(nn.Module):
    def __init__(self, inputs=20, full=64, classes=6):
        super().__init__()
        self.full, self.classes = full, classes
        self.fc1, self.fc2 = SlimLinear(inputs, full), SlimLinear(full, full)
        self.fc3 = SlimLinear(full, classes)
        self.bn1 = nn.ModuleDict({self.key(w): nn.BatchNorm1d(int(full * w)) for w in WIDTHS})
        self.bn2 = nn.ModuleDict({self.key(w): nn.BatchNorm1d(int(full * w)) for w in WIDTHS})

    @staticmethod
    def key(width):
        return f"w{int(100 * width)}"

    def forward(self, x, width):
        out, key = int(self.full * width), self.key(width)
        x = F.relu(self.bn1[key](self.fc1(x, out)))
        x = F.relu(self.bn2[key](self.fc2(x, out)))
        return self.fc3(x, self.classes)


def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    widest = model(x, 1.0)
    loss = F.cross_entropy(widest, y)
    loss.backward()
    soft = widest.detach().softmax(1)
    for width in WIDTHS[:-1]:
        F.cross_entropy(model(x, width), soft).backward()
    optimizer.step()
    return loss.item()


torch.manual_seed(78)
centres = torch.randn(6, 3, 20)


def sample(count):
    y = torch.randint(0, 6, (count,))
    return centres[y, torch.randint(0, 3, (count,))] + 0.8 * torch.randn(count, 20), y


loader = DataLoader(TensorDataset(*sample(1600)), batch_size=50, shuffle=True)
test_x, test_y = sample(600)
model = SlimNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
for epoch in range(7):
    model.train()
    for x, y in loader:
        loss = train_step(model, optimizer, x, y)
    model.eval()
    with torch.no_grad():
        scores = [(model(test_x, w).argmax(1) == test_y).float().mean().item() for w in WIDTHS]
    print(f"epoch {epoch} loss {loss:.3f} accuracy by width", [round(s, 3) for s in scores])
