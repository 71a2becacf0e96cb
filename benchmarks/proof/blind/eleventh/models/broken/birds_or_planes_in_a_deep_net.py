r"""The deep residual net of a book's chapter, which tells birds from planes.

Source: https://github.com/deep-learning-with-pytorch/dlwpt-code/issues/89
Fault: the list with one ResBlock is multiplied, so that all blocks of the stack are the same
    object: one set of weights is applied again and again, and the net has the size of one block.
Cause: (same|one|single|shared?).*(object|instance|block|module|layer|weights?|parameter)
    |(sharing|identical|tied|reused?).*(object|instance|block|module|layer|weights?|parameter)
    |(block|module|layer|weight|parameter)s?.*(shared?|sharing|tied|reused?)
    |(block|module|layer|weight|parameter)s?.*(same|identical|repeat|appl(y|ied).*times)
    |list.*(multipl|\*|reference|copies|repeat)|(call|appl|us)ed? (several|many|10|ten|\d+) times
Place: resblocks|ResBlock|n_blocks
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class ResBlock(nn.Module):
    def __init__(self, n_chans):
        super(ResBlock, self).__init__()
        self.conv = nn.Conv2d(n_chans, n_chans, kernel_size=3, padding=1, bias=False)
        self.batch_norm = nn.BatchNorm2d(num_features=n_chans)
        torch.nn.init.kaiming_normal_(self.conv.weight, nonlinearity='relu')
        torch.nn.init.constant_(self.batch_norm.weight, 0.5)
        torch.nn.init.zeros_(self.batch_norm.bias)

    def forward(self, x):
        out = self.conv(x)
        out = self.batch_norm(out)
        out = torch.relu(out)
        return out + x


class NetResDeep(nn.Module):
    def __init__(self, n_chans1=32, n_blocks=10):
        super().__init__()
        self.n_chans1 = n_chans1
        self.conv1 = nn.Conv2d(3, n_chans1, kernel_size=3, padding=1)
        self.resblocks = nn.Sequential(*(n_blocks * [ResBlock(n_chans=n_chans1)]))  # here
        self.fc1 = nn.Linear(8 * 8 * n_chans1, 32)
        self.fc2 = nn.Linear(32, 2)

    def forward(self, x):
        out = F.max_pool2d(torch.relu(self.conv1(x)), 2)
        out = self.resblocks(out)
        out = F.max_pool2d(out, 2)
        out = out.view(-1, 8 * 8 * self.n_chans1)
        out = torch.relu(self.fc1(out))
        out = self.fc2(out)
        return out


def make_cifar2(n=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 2, (n,), generator=g)
    imgs = 0.3 * torch.randn(n, 3, 32, 32, generator=g)
    rows = torch.arange(32).view(1, 32, 1).float()
    cols = torch.arange(32).view(1, 1, 32).float()
    for i in range(n):
        r, c = torch.randint(8, 24, (2,), generator=g).tolist()
        if labels[i] == 0:
            body = ((rows - r).abs() < 2) & ((cols - c).abs() < 9)
            wing = ((rows - r).abs() < 7) & ((cols - c).abs() < 2)
            shape = (body | wing).float()
        else:
            shape = (((rows - r) / 4) ** 2 + ((cols - c) / 6) ** 2 < 1).float()
        imgs[i] += torch.tensor([1.0, 0.8, 0.4]).view(3, 1, 1) * shape
    return imgs, labels


def training_loss(model, imgs, labels):
    outputs = model(imgs)
    l2_lambda = 0.001
    l2_norm = sum(p.pow(2.0).sum() for p in model.parameters())
    return F.cross_entropy(outputs, labels) + l2_lambda * l2_norm


def count_correct(model, imgs, labels):
    with torch.no_grad():
        predicted = torch.max(model(imgs), dim=1)[1]
    return int((predicted == labels).sum())


def build():
    torch.manual_seed(0)
    return NetResDeep(n_chans1=16, n_blocks=6)


def example_inputs():
    return (make_cifar2(8)[0],)
