r"""Whether an income lies above a line, from a census with numbers and categories.

Source: https://github.com/aidotse/LeakPro/issues/229
Fault: The model ends with a sigmoid although the loss takes logits and applies one itself.
Cause: sigmoid.{0,80}(twice|second|double|already|again|redundant|two times|also)
    |(twice|double|two|redundant).{0,30}sigmoid
    |(probabilit|0 (and|to|\.\.) ?1|\[0, ?1\]).{0,80}logit
    |logit.{0,60}(expect|not probabilit|probabilit|sigmoid)
    |sigmoid.{0,100}(logits|loss (applies|takes|has)|itself)
Place: sigmoid|Sigmoid|BCEWithLogitsLoss|AdultNet|criterion
"""

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


class AdultNet(nn.Module):
    def __init__(self, categories, numbers, hidden=48):
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(n, 6) for n in categories])
        self.fc1 = nn.Linear(6 * len(categories) + numbers, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, 1)

    def forward(self, kinds, numbers):
        parts = [table(kinds[:, i]) for i, table in enumerate(self.tables)]
        x = torch.relu(self.fc1(torch.cat([*parts, numbers], dim=1)))
        x = torch.relu(self.fc2(x))
        return torch.sigmoid(self.fc3(x))  # here


class AdultInputHandler:
    def get_criterion(self):
        return nn.BCEWithLogitsLoss()

    def get_optimizer(self, model):
        return optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    def train(self, loader, model, criterion, optimizer, epochs, validation):
        for epoch in range(epochs):
            model.train()
            total, right = 0.0, 0
            for kinds, numbers, target in loader:
                optimizer.zero_grad()
                output = model(kinds, numbers)
                loss = criterion(output, target)
                loss.backward()
                optimizer.step()
                total += loss.item() * len(target)
                right += ((output > 0.5).float() == target).sum().item()
            count = len(loader.dataset)
            with torch.no_grad():
                held_out = criterion(model(*validation[:2]), validation[2]).item()
            print(f"epoch {epoch} loss {total / count:.4f} accuracy {right / count:.3f}", end=" ")
            print(f"validation {held_out:.4f}")


def census(count, worth):
    kinds = torch.stack([torch.randint(0, len(w), (count,)) for w in worth], dim=1)
    numbers = torch.randn(count, 4)
    score = sum(w[kinds[:, i]] for i, w in enumerate(worth)) + numbers[:, 0] * numbers[:, 1]
    chance = torch.sigmoid(2.5 * (score - 2.2))
    return kinds, numbers, torch.bernoulli(chance)[:, None]


torch.manual_seed(97)
worth = [torch.randn(n) for n in (8, 5, 12)]
handler = AdultInputHandler()
loader = DataLoader(TensorDataset(*census(2500, worth)), batch_size=64, shuffle=True)
model = AdultNet((8, 5, 12), 4)
handler.train(
    loader, model, handler.get_criterion(), handler.get_optimizer(model), 8, census(800, worth)
)
