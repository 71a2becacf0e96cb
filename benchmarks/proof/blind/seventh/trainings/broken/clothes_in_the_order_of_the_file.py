r"""Kinds of clothes from a file in which the pictures lie in the order of their kind.

Source: https://github.com/zalandoresearch/fashion-mnist/pull/5
Fault: The data are sorted by class and the batches are taken in that order, without shuffling.
Cause: shuffl|sorted|(same|one|single) (class|label|kind).{0,60}(batch|order)
    |(batch).{0,60}(one|single|same) (class|label|kind)|order(ed)?.{0,40}(class|label|kind)|forget
    |forgot|not (mixed|random)
Place: shuffle|DataLoader|loader|sampler
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class ClothesFile(Dataset):
    def __init__(self, per_kind, templates, seed):
        g = torch.Generator().manual_seed(seed)
        self.targets = torch.arange(len(templates)).repeat_interleave(per_kind)
        noise = torch.randn(len(self.targets), 1, 8, 8, generator=g)
        self.images = templates[self.targets] + 1.1 * noise

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, index):
        return self.images[index], self.targets[index]


def make_model():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * 16, 64),
        nn.ReLU(),
        nn.Linear(64, 8),
    )


def run_epoch(model, loader, criterion, optimizer=None):
    loss_sum = right = seen = 0
    for images, targets in loader:
        out = model(images)
        loss = criterion(out, targets)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        loss_sum += loss.item() * len(targets)
        right += (out.argmax(1) == targets).sum().item()
        seen += len(targets)
    return loss_sum / seen, right / seen


def main():
    torch.manual_seed(50)
    templates = torch.randn(8, 1, 8, 8)
    train = ClothesFile(200, templates, seed=1)
    test = ClothesFile(50, templates, seed=2)
    train_loader = DataLoader(train, batch_size=40)  # here
    test_loader = DataLoader(test, batch_size=40)
    model = make_model()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(6):
        loss, accuracy = run_epoch(model, train_loader, criterion, optimizer)
        with torch.no_grad():
            test_loss, test_accuracy = run_epoch(model, test_loader, criterion)
        print(f"{epoch} train {loss:.3f} {accuracy:.3f} test {test_loss:.3f} {test_accuracy:.3f}")


main()
