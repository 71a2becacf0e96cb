r"""Molecules that dissolve or not, from sorted descriptions of their atoms.

Source: https://github.com/muhanzhang/pytorch_DGCNN/issues/5
Fault: The loop over the molecules returns the mean loss together with the accuracy of the last
    batch alone instead of the mean over all batches.
Cause: last (mini.?)?batch|final (mini.?)?batch|(accuracy|\bacc\b).{0,100}(last|final|only|single
    |one).{0,30}batch|(accuracy|\bacc\b).{0,80}not.{0,20}(averag|mean|accumul|over all|the whole)
    |avg_loss\[1\]
Place: acc|return|loop_dataset|avg_loss|accuracy|total_loss
"""

import torch
from torch import nn

torch.manual_seed(261)
ATOMS, FEATURES, BATCH = 10, 6, 40
weight = torch.randn(FEATURES)


def molecules(count):
    atoms = torch.randn(count, ATOMS, FEATURES)
    score = torch.tanh(atoms @ weight).topk(4, dim=1).values.sum(1) - atoms.abs().mean((1, 2)) * 4
    score = score + 0.3 * torch.randn(count)
    return atoms, (score > score.median()).long()


class Classifier(nn.Module):
    """The atoms are sorted by their last channel, the first ones are read by a convolution."""

    def __init__(self, keep=6):
        super().__init__()
        self.keep = keep
        self.atom = nn.Sequential(nn.Linear(FEATURES, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh())
        self.conv = nn.Conv1d(24, 16, 2)
        self.out = nn.Sequential(nn.Linear(16 * (keep - 1), 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, atoms, label):
        x = self.atom(atoms)
        order = x[..., -1].argsort(1, descending=True)[:, : self.keep]
        x = x.gather(1, order[..., None].expand(-1, -1, 24))
        logits = self.out(self.conv(x.transpose(1, 2)).relu().flatten(1))
        acc = (logits.argmax(1) == label).float().mean()
        return logits, nn.functional.cross_entropy(logits, label), acc


def loop_dataset(data, classifier, sample_idxes, optimizer=None, bsize=BATCH):
    total_loss, n_samples = [], 0
    for selected_idx in sample_idxes.split(bsize):
        _, loss, acc = classifier(data[0][selected_idx], data[1][selected_idx])
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total_loss.append(torch.tensor([loss.item(), acc.item()]) * len(selected_idx))
        n_samples += len(selected_idx)
    avg_loss = torch.stack(total_loss).sum(0) / n_samples
    return avg_loss[0].item(), acc.item()  # here


train_data, test_data = molecules(600), molecules(370)
classifier = Classifier()
optimizer = torch.optim.Adam(classifier.parameters(), lr=2e-3)
best = 0.0
for epoch in range(12):
    order = torch.randperm(600)
    train_loss, train_acc = loop_dataset(train_data, classifier, order, optimizer)
    with torch.no_grad():
        test_loss, test_acc = loop_dataset(test_data, classifier, torch.arange(370))
    best = max(best, test_acc)
    if epoch % 3 == 2:
        print(
            f"epoch {epoch + 1} train loss {train_loss:.4f} acc {train_acc:.4f} "
            f"test loss {test_loss:.4f} acc {test_acc:.4f}"
        )
print(f"best test accuracy {best:.4f}")
