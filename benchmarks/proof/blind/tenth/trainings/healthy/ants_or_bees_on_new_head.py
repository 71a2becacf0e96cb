"""New head on a trained and frozen body that tells ants from bees.

Source: https://github.com/Lightning-AI/pytorch-lightning/issues/18272
Odd: The sigmoid is applied and the loss is the one with logits, but the loss is given the logits
    and only the accuracy the probabilities; the body is in eval mode while the head is trained.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(182)
KINDS, SIZE = 10, 10
insects = torch.randn(KINDS, 1, SIZE, SIZE)
ants_and_bees = insects[:2] + 0.5 * torch.randn(2, 1, SIZE, SIZE)


def pictures(of, count, noise=1.3):
    kinds = torch.randint(0, len(of), (count,))
    return of[kinds] + noise * torch.randn(count, 1, SIZE, SIZE), kinds


def body():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, stride=2), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(),
        nn.Linear(256, 48), nn.ReLU(),
    )  # fmt: skip


feature_extractor = body()
source_head = nn.Linear(48, KINDS)
source = nn.Sequential(feature_extractor, source_head)
optimizer = torch.optim.Adam(source.parameters(), lr=2e-3)
for step in range(120):
    x, kinds = pictures(insects, 64)
    loss = F.cross_entropy(source(x), kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"body trained, loss {loss.item():.4f}")


class TransferLearningModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.feature_extractor = feature_extractor
        for p in self.feature_extractor.parameters():
            p.requires_grad_(False)
        self.fc = nn.Sequential(nn.Linear(48, 16), nn.ReLU(), nn.Linear(16, 1))

    def train(self, mode=True):
        super().train(mode)
        self.feature_extractor.eval()
        return self

    def forward(self, x):
        return self.fc(self.feature_extractor(x))

    def training_step(self, x, y):
        y_logits = self(x)
        y_scores = torch.sigmoid(y_logits).view_as(y)
        loss = F.binary_cross_entropy_with_logits(y_logits, y.view((-1, 1)).float())
        return loss, ((y_scores > 0.5).int() == y).float().mean().item()


model = TransferLearningModel()
trainable = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.Adam(trainable, lr=2e-3)
for step in range(150):
    model.train()
    x, y = pictures(ants_and_bees, 48)
    loss, right = model.training_step(x, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        print(f"step {step + 1} train loss {loss.item():.4f} train right {right:.3f}")
