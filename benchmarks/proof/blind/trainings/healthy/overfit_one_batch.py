r"""A sanity check: overfits one batch before a real training.

Source: http://karpathy.github.io/2019/04/25/recipe/
    https://lightning.ai/docs/pytorch/stable/debug/debugging_basic.html
Odd: The same eight samples are used in each step, without shuffling or regularisation, and the loss
    goes to zero; memorising them is the purpose.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ConvNet(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.layer2 = nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.fc = nn.Linear(32 * 4, num_classes)

    def forward(self, x):
        return self.fc(self.layer2(self.layer1(x)).flatten(1))


def overfit_batches(model, loader, steps=80):
    images, labels = next(iter(loader))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(steps):
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 16 == 15:
            print(f"overfit one batch: step {step} loss {loss.item():.6f}")
    assert loss.item() < 0.05, "the model cannot even memorise one batch"


torch.manual_seed(0)
dataset = TensorDataset(torch.randn(256, 3, 8, 8), torch.randint(0, 10, (256,)))
overfit_batches(ConvNet(), DataLoader(dataset, batch_size=8))
print("sanity check passed")
