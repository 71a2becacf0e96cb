r"""Small convolutional network for road signs, with dropout after each stage.

Source: https://github.com/hunkim/DeepLearningZeroToAll/issues/122
Fault: The setting is the share of units to keep, but the layers take it as the share to drop.
Cause: dropout|keep_prob|drop(s|ped|ping)?\b.{0,40}(too (many|much|large|high)|most|90|0\.9)|(most
    |90).{0,30}(units|activations).{0,30}(zero|drop)|(share|fraction|probability|rate).{0,40}(keep
    |kept|drop)
Place: keep_prob|[Dd]ropout\w*|\bp\b
"""

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(79)
learning_rate = 0.002
training_epochs = 8
batch_size = 50
keep_prob = 0.9
signs = (torch.rand(10, 3, 12, 12) > 0.6).float()


def photos(count):
    label = torch.randint(0, 10, (count,))
    light = 0.5 + 0.5 * torch.rand(count, 1, 1, 1)
    return light * signs[label] + 0.5 * torch.randn(count, 3, 12, 12), label


class CNN(nn.Module):
    def __init__(self, keep_prob):
        super().__init__()
        self.layer1 = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Dropout(keep_prob),  # here
        )
        self.layer2 = nn.Sequential(
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Dropout(keep_prob),  # here
        )
        self.fc1 = nn.Sequential(nn.Linear(32 * 9, 64), nn.ReLU(), nn.Dropout(keep_prob))  # here
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = self.layer2(self.layer1(x)).flatten(1)
        return self.fc2(self.fc1(x))


model = CNN(keep_prob)
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=learning_rate)
images, labels = photos(1000)
test_images, test_labels = photos(500)
total_batch = len(images) // batch_size

for epoch in range(training_epochs):
    avg_cost = 0
    model.train()
    for pick in torch.randperm(len(images)).split(batch_size):
        cost = criterion(model(images[pick]), labels[pick])
        optimizer.zero_grad()
        cost.backward()
        optimizer.step()
        avg_cost += cost.item() / total_batch
    print(f"Epoch: {epoch + 1:04d} cost = {avg_cost:.9f}")

model.eval()
with torch.no_grad():
    hits = (model(test_images).argmax(1) == test_labels).float().mean()
print(f"Accuracy: {hits.item():.3f}")
