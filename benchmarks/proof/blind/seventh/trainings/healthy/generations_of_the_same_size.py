r"""Each generation is a new network of the same size that learns from the one before.

Source: https://github.com/nocotan/born-again-neuralnet
Odd: Weights and optimizer are made anew three times, at which the loss jumps back; later
    generations never see a label alone but also the outputs of the last network, which is no
    longer trained.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SETTINGS = {"generations": 3, "epochs": 6, "lr": 2e-3, "batch": 50, "temperature": 2.0}


def shapes(count, templates):
    y = torch.randint(0, len(templates), (count,))
    x = templates[y]
    shift = torch.randint(0, 3, (count,))
    x = torch.stack([row.roll(int(s), -1) for row, s in zip(x, shift)])
    return x + 0.8 * torch.randn_like(x), y


class Cnn(nn.Module):
    def __init__(self, classes=8):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1),
            nn.BatchNorm2d(12),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1),
            nn.BatchNorm2d(24),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.head = nn.Linear(24 * 16, classes)

    def forward(self, x):
        return self.head(self.features(x))


class BornAgain:
    def __init__(self, settings):
        self.settings, self.teacher = settings, None
        self.renew()

    def renew(self):
        self.model = Cnn()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=self.settings["lr"])

    def update(self, x, y):
        out = self.model(x)
        loss = F.cross_entropy(out, y)
        if self.teacher is not None:
            t = self.settings["temperature"]
            with torch.no_grad():
                soft = F.softmax(self.teacher(x) / t, dim=1)
            distil = F.kl_div(F.log_softmax(out / t, dim=1), soft, reduction="batchmean")
            loss = 0.5 * loss + 0.5 * t * t * distil
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def next_generation(self):
        self.teacher = self.model.eval()
        self.renew()


@torch.no_grad()
def accuracy(model, x, y):
    return (model.eval()(x).argmax(1) == y).float().mean().item()


torch.manual_seed(29)
templates = torch.randn(8, 1, 8, 8)
loader = DataLoader(TensorDataset(*shapes(600, templates)), SETTINGS["batch"], shuffle=True)
test = shapes(500, templates)
trainer = BornAgain(SETTINGS)
for generation in range(SETTINGS["generations"]):
    if generation:
        trainer.next_generation()
    for epoch in range(SETTINGS["epochs"]):
        trainer.model.train()
        losses = [trainer.update(x, y) for x, y in loader]
        if epoch % 3 == 2:
            mean = sum(losses) / len(losses)
            print(f"generation {generation} epoch {epoch} loss {mean:.3f}", end=" ")
            print(f"accuracy {accuracy(trainer.model, *test):.3f}")
