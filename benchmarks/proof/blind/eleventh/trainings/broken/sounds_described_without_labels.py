r"""Pretrains an audio encoder without labels, tests it with a linear layer and then fine-tunes all.

Source: https://github.com/nttcslab/byol-a/issues/7
Fault: set_trainable() changes only parameters that require a gradient at the moment; once the
    encoder has been frozen for the linear test it cannot be thawed, and the fine-tuning trains the
    head alone.
Cause: (encod\w+|backbone|body|feature\w*|layers?|parameters?|weights?|network)\b.*(frozen
    |freez\w+|thaw\w*|un-?fr\w+|requires_grad|not require|not trainable|never (trained|thawed
    |updated)|stay(s)? (fixed|frozen)|without gradient|no grad\w*)
    |(frozen|freez\w+|requires_grad|un-?fr\w+)\b.*(encod\w+|backbone|body|feature\w*|layer
    |parameter|weight|never|still|again|condition|skip\w*)
    |\b(no|without|none)\b.*(grad\w*)\b.*(encod\w+|backbone|features|layers?)
Place: set_trainable|requires_grad|encoder|AudioNTT2020|features|fc
"""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def set_trainable(module, trainable):
    for p in module.parameters():
        if p.requires_grad:  # here
            p.requires_grad = trainable


def spectrograms(n, seed, mels=16, frames=24):
    """four kinds of chirps in noise"""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    x = 0.8 * torch.randn(n, 1, mels, frames, generator=g)
    t = torch.arange(frames).float()
    for i in range(n):
        f0 = 4 + 7 * torch.rand(1, generator=g)
        slope = [0.25, -0.25, 0.0, 0.0][int(y[i])]
        wob = 2.0 if int(y[i]) == 3 else 0.0
        f = (f0 + slope * (t - frames / 2) + wob * torch.sin(t / 2)).clamp(0, mels - 1)
        x[i, 0, f.long(), torch.arange(frames)] += 1.6
    return x, y


class AudioNTT2020(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(24, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2))
        self.fc = nn.Sequential(nn.Linear(24 * 4, d), nn.ReLU(), nn.Linear(d, d), nn.ReLU())

    def forward(self, x):
        x = self.features(x)  # (batch, ch, mel, time)
        x = x.permute(0, 3, 2, 1).flatten(2)
        x = self.fc(x)
        return x.mean(1) + x.max(1).values


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))


class BYOL(nn.Module):
    def __init__(self, net, d=64, moving_average_decay=0.97):
        super().__init__()
        self.online_encoder = net
        self.online_projector = mlp(d, 96, 32)
        self.predictor = mlp(32, 96, 32)
        self.target_encoder = copy.deepcopy(net)
        self.target_projector = copy.deepcopy(self.online_projector)
        set_trainable(self.target_encoder, False)
        set_trainable(self.target_projector, False)
        self.beta = moving_average_decay

    @torch.no_grad()
    def update_moving_average(self):
        for a, b in ((self.target_encoder, self.online_encoder),
                     (self.target_projector, self.online_projector)):
            for t, o in zip(a.parameters(), b.parameters()):
                t.mul_(self.beta).add_(o, alpha=1 - self.beta)

    def loss(self, v1, v2):
        p = F.normalize(self.predictor(self.online_projector(self.online_encoder(v1))), dim=-1)
        with torch.no_grad():
            z = F.normalize(self.target_projector(self.target_encoder(v2)), dim=-1)
        return (2 - 2 * (p * z).sum(-1)).mean()


def augment(x):
    shift = int(torch.randint(-4, 5, (1,)))
    return torch.roll(x, shift, dims=3) + 0.3 * torch.randn_like(x)


def pretrain(net, x, epochs=3):
    learner = BYOL(net)
    opt = torch.optim.Adam([p for p in learner.parameters() if p.requires_grad], lr=1e-3)
    loader = DataLoader(TensorDataset(x), batch_size=64, shuffle=True)
    for epoch in range(epochs):
        total = 0.0
        for (xb,) in loader:
            a, b = augment(xb), augment(xb)
            loss = learner.loss(a, b) + learner.loss(b, a)
            opt.zero_grad()
            loss.backward()
            opt.step()
            learner.update_moving_average()
            total += loss.item()
        print('byol epoch %d loss %.4f' % (epoch, total / len(loader)))


def fit(encoder, head, train, test, epochs, lr, tag):
    model = nn.Sequential(encoder, head)
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    loader = DataLoader(TensorDataset(*train), batch_size=32, shuffle=True)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for xb, yb in loader:
            loss = F.cross_entropy(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            acc = (model(test[0]).argmax(1) == test[1]).float().mean().item()
        print('%s epoch %d loss %.4f test acc %.3f' % (tag, epoch, total / len(loader), acc))


if __name__ == '__main__':
    train, test = spectrograms(480, 1), spectrograms(300, 2)
    net = AudioNTT2020()
    pretrain(net, spectrograms(640, 3)[0])

    set_trainable(net, False)
    head = nn.Linear(64, 4)
    fit(net, head, train, test, epochs=4, lr=3e-3, tag='linear')

    set_trainable(net, True)
    fit(net, head, train, test, epochs=6, lr=2e-3, tag='finetune')
