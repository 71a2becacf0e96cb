r"""Training of a found architecture of small cells on classes that lie in blocks in the data.

Source: https://github.com/MAC-AutoML/rethinking_performance_estimation_in_NAS/issues/17
Fault: The training data is sorted by classes and the loader does not shuffle it, so each batch has
    one class only and the network follows the last one seen.
Cause: shuffl\w*|sorted|(order|sequence) of the (data|samples|classes)|in order|(one|single
    |same).{0,20}class.{0,40}batch|batch\w*.{0,60}(one|single|same|only).{0,20}(class|label)|forget
Place: shuffle|train_loader|DataLoader|sampler
"""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(179)
CLASSES, PER_CLASS = 8, 160
prototypes = torch.randn(CLASSES, 3, 8, 8)


def block_data(per_class):
    y = torch.arange(CLASSES).repeat_interleave(per_class)
    return TensorDataset(0.35 * prototypes[y] + torch.randn(len(y), 3, 8, 8), y)


class Cell(nn.Module):
    def __init__(self, channels, edges):
        super().__init__()
        choices = {
            "sep3": lambda: nn.Conv2d(channels, channels, 3, padding=1, groups=channels),
            "conv1": lambda: nn.Conv2d(channels, channels, 1),
            "pool": lambda: nn.AvgPool2d(3, 1, 1),
        }
        self.edges = nn.ModuleList(choices[name]() for name in edges)
        self.norm = nn.GroupNorm(4, channels)

    def forward(self, x):
        return torch.relu(self.norm(x + sum(edge(x) for edge in self.edges)))


class AugmentCNN(nn.Module):
    def __init__(self, genotype, channels=16):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.cells = nn.Sequential(*[Cell(channels, edges) for edges in genotype])
        self.linear = nn.Linear(channels * 64, CLASSES)

    def forward(self, x):
        return self.linear(self.cells(self.stem(x)).flatten(1))


def augment(config):
    train_loader = DataLoader(block_data(PER_CLASS), config["batch_size"], shuffle=False)  # here
    valid_loader = DataLoader(block_data(25), 200, shuffle=False)
    model = AugmentCNN([("sep3", "conv1"), ("pool", "conv1")])
    optimizer = torch.optim.SGD(model.parameters(), config["lr"], momentum=0.9)
    total_steps = config["epochs"] * len(train_loader)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, total_steps)
    for epoch in range(config["epochs"]):
        model.train()
        losses = []
        for x, y in train_loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            x, y = next(iter(valid_loader))
            top1 = (model(x).argmax(1) == y).float().mean().item()
        print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f} Prec@1 {top1:.4f}")


augment({"batch_size": 32, "lr": 0.02, "epochs": 3})
