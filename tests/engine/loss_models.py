"""Models, losses and loaders as people write them, for `test_losses`. Nothing of hookcli."""

from __future__ import annotations

import functools
import itertools
from collections import namedtuple

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.head = nn.Linear(6, 8), nn.Linear(8, 4)

    def forward(self, x):
        return self.head(torch.tanh(self.hidden(x)))


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 5, 3, padding=1)

    def forward(self, image):
        return {"out": self.conv(image), "aux": self.conv.weight.sum()}


class Speech(nn.Module):
    """[T, N, C] log probabilities, as CTC takes them."""

    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.GRU(4, 8), nn.Linear(8, 6)

    def forward(self, frames):
        return self.head(self.rnn(frames)[0]).log_softmax(-1)


class Language(nn.Module):
    """[N, T, V]: the classes are in the last dimension."""

    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(11, 8), nn.Linear(8, 11)

    def forward(self, ids):
        return self.head(self.table(ids))


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.side = nn.Linear(6, 5)

    def forward(self, a, b):
        return self.side(a), self.side(b)


class OfDict(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 1, 3, padding=1)

    def forward(self, batch):
        return self.conv(batch["image"]).squeeze(1) * batch["mask"]


class Generator(nn.Module):
    """As nanoGPT: the second argument is the target, and the output is (logits, loss)."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 11)

    def forward(self, idx, targets=None):
        logits = self.table(idx)
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, 11), targets.view(-1))


class Lit(nn.Module):
    """As Lightning's modules, without Lightning: `log` is not defined here."""

    def __init__(self):
        super().__init__()
        self.net = Classifier()

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self(x), y) + batch_idx
        self.log("loss", loss, prog_bar=True)
        return {"loss": loss, "step": self.global_step}


class LitWithLoader(Lit):
    def training_step(self, batch):
        return super().training_step(batch, 0)["loss"]

    def train_dataloader(self):
        return loader


class Wrong(Lit):
    def training_step(self, batch, batch_idx):
        x, _, _ = batch
        return self(x).sum()


class Manual(Lit):
    def training_step(self, batch, batch_idx):
        self(batch[0]).sum().backward()


X = torch.linspace(-1, 1, 24).sin().reshape(4, 6)
Y = torch.tensor([0, 3, 1, 2])
IMAGE = torch.linspace(-2, 2, 2 * 3 * 64).cos().reshape(2, 3, 8, 8)
PIXELS = torch.arange(128).reshape(2, 8, 8) % 5
DRAWN = []


class Samples(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        DRAWN.append(i)
        return X[i], Y[i]


class Stream(IterableDataset):
    def __iter__(self):
        return zip(X, Y, strict=True)


class Plain:
    """A data set of no class of torch, as those of the library datasets."""

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return {"x": X[i], "label": Y[i]}


class OwnLoader:
    """A loader of the user's, which keeps its tensors."""

    def __init__(self):
        self.x, self.y = X, Y

    def __iter__(self):
        yield self.x, self.y


loader = DataLoader(TensorDataset(X, Y), batch_size=4)
workers = DataLoader(Samples(), batch_size=4, num_workers=1)
kept_workers = DataLoader(Samples(), batch_size=4, num_workers=1, persistent_workers=True)
samples, stream, plain, own_loader = Samples(), Stream(), Plain(), OwnLoader()
a_list = [(X, Y), (X, Y)]


def endless():
    for number in itertools.count():
        DRAWN.append(number)
        yield X, Y


def pair():
    return X, Y


def pair_list():
    return next(iter(loader))


def images():
    return IMAGE, PIXELS


def mapping():
    return {"image": IMAGE, "mask": PIXELS}


def with_label():
    return {"x": X, "label": Y}


def pairs():
    yield (X, X.flip(0)), Y.float()


Ids = namedtuple("Ids", "ids")
IDS = torch.arange(10).reshape(2, 5)


def tokens():
    yield IDS, IDS.flip(1)


def make_targets():
    return Y


def output_only(output):
    return output.pow(2).mean()


def with_target(logits, labels):
    return F.cross_entropy(logits, labels)


def with_any_name(a, b):
    return F.cross_entropy(a, b)


def swapped(y_true, y_pred):
    return F.cross_entropy(y_pred, y_true)


def with_batch(output, batch):
    x, y = batch
    return F.cross_entropy(output, y) + (output.sum() * x.sum())


def with_options(output, target, *, reduction="sum", weight=None):
    return F.cross_entropy(output, target, reduction=reduction, weight=weight)


def any_arguments(*args):
    return F.cross_entropy(*args)


def with_both(output, target, inputs):
    return F.cross_entropy(output, target) + output.mean() * inputs[0].sum()


smooth = functools.partial(F.cross_entropy, label_smoothing=0.2)
instance = nn.CrossEntropyLoss(label_smoothing=0.2)


class Focal(nn.Module):
    def __init__(self, gamma=2.0):
        super().__init__()
        self.gamma = gamma

    def forward(self, logits, target):
        loss = F.cross_entropy(logits, target, reduction="none")
        return ((1 - (-loss).exp()) ** self.gamma * loss).mean()


class Callable:
    def __call__(self, outputs, y):
        return F.cross_entropy(outputs, y)


class Needy:
    def __init__(self, gamma):
        self.gamma = gamma

    def __call__(self, output):
        return output.sum()


def raises(output, target):
    raise ValueError("no such class")


def a_number(output):
    return output.sum().item()


def not_reduced(output):
    return output


def cut_off(output):
    return output.detach().sum()


def of_parameters(output):
    return torch.ones(1, requires_grad=True).sum()


def is_nan(output):
    return output.sum() * float("nan")


def too_many(a, b, c, d):
    return a.sum()


def counts(output):
    return output.argmax(-1).float().mean().long()
