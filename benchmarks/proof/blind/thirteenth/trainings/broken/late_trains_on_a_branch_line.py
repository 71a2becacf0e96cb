r"""Says whether a train on a branch line will be late from weather, load and weekday.

Source: https://discuss.pytorch.org/t/two-output-nodes-for-binary-classification/58703
Fault: The net has a single output and a softmax is taken over it; the softmax of one number is
    always one, so the probability does not depend on the input, there is no gradient, and every
    train is called late.
Cause: softmax.*(one|single|1\b|always|constant|column|output|unit|size)|always (one|1)
    |(single|one) (output|column|class|unit|logit).*softmax|use (a )?sigmoid|sigmoid instead
Place: softmax|probabilit|forward|out\b
"""
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(68)


def trains(n):
    snow = torch.relu(torch.randn(n))
    load = torch.rand(n)
    weekday = torch.randint(0, 7, (n,))
    single_track = torch.randint(0, 2, (n,)).float()
    score = 1.5 * snow + 2 * load * single_track - (weekday > 4).float() - 1.2
    late = (score + 0.5 * torch.randn(n) > 0).float()
    table = torch.cat([torch.stack([snow, load, single_track], 1),
                       F.one_hot(weekday, 7).float()], dim=1)
    return TensorDataset(table, late.unsqueeze(1))


class LateNet(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.fc1 = nn.Linear(10, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return F.softmax(self.out(x), dim=1)  # here


train, test = random_split(trains(2000), [1600, 400])
loader = DataLoader(train, batch_size=40, shuffle=True)
model = LateNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(12):
    model.train()
    total = 0.0
    for x, late in loader:
        optimizer.zero_grad()
        probability = model(x)
        loss = F.binary_cross_entropy(probability, late)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}")

model.eval()
with torch.no_grad():
    x, late = test[:]
    right = ((model(x) > 0.5).float() == late).float().mean().item()
print(f"test accuracy {right:.3f}, share of late trains {late.mean().item():.3f}")
