r"""Classifier of pictures of parcels as intact or damaged.

Source: https://decodetrail.com/question/why-does-my-cnn-predict-only-one-class-no-matter-what-image-i-give-it/?show=recent
Fault: One class has 96 of 100 samples and the loss has no weights, so the other is never predicted.
Cause: imbalanc\w*|unbalanced|(class|loss) weights?
    |(majority|dominant|frequent|rare|minority) class
    |class\w* .*(rare|few|share|96|frequen|distribution)
    |(only|always|all) .*(one|same|single) class|weighted
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ParcelNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
        )
        self.classifier = nn.Linear(64, 2)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def parcels(count, share):
    damaged = torch.rand(count) < share
    pictures = 0.8 * torch.randn(count, 1, 12, 12)
    dent = torch.zeros(12, 12)
    dent[3:8, 3:8] = 0.45
    return pictures + damaged[:, None, None, None] * dent, damaged.long()


torch.manual_seed(0)
train_set = TensorDataset(*parcels(800, share=0.04))
loader = DataLoader(train_set, batch_size=40, shuffle=True)
model = ParcelNet()
loss_function = nn.CrossEntropyLoss()  # here
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(5):
    hits = 0
    for pictures, labels in loader:
        logits = model(pictures)
        loss = loss_function(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hits += (logits.argmax(1) == labels).sum().item()
    print(f"epoch {epoch} loss {loss.item():.4f} accuracy {hits / 800:.3f}")
pictures, labels = parcels(400, share=0.5)
with torch.no_grad():
    predicted = model(pictures).argmax(1)
for name, label in (("intact", 0), ("damaged", 1)):
    print(f"{name}: found {(predicted[labels == label] == label).float().mean().item():.3f}")
