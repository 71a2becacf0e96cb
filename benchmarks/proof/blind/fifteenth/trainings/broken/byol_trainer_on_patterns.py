r"""BYOL with its trainer, on small patterns, with a probe on the features at the end.

Source: https://github.com/lucidrains/byol-pytorch/issues/93
Fault: the trainer clears the gradients between backward() and step(), so no step ever moves the
    online net and the loss stays where it was.
Cause: (gradient|grad)s?.{0,120}(cleared|wiped|erased|set to (zero|none)|zeroed|reset|removed
    |thrown away|discard|emptied|deleted|deletes?|clears?)
    |(clear|wip|eras|zero|reset|discard|delet|empt)(s|es|ed|ing|e)?.{0,60}(gradient|grad)
    |steps? (run|with|sees?|has|have|finds?|gets?).{0,40}(no|without|zero|empty|none).{0,20}grad
Place: zero_grad|optimizer|step|forward|BYOLTrainer|trainer
"""
import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import Adam
from torch.utils.data import DataLoader, Dataset


def exists(v):
    return v is not None


def cycle(dl):
    while True:
        for batch in dl:
            yield batch


def loss_fn(x, y):
    x = F.normalize(x, dim=-1, p=2)
    y = F.normalize(y, dim=-1, p=2)
    return 2 - 2 * (x * y).sum(dim=-1)


class PatternDataset(Dataset):
    def __init__(self, length, seed, with_label=False):
        g = torch.Generator().manual_seed(99)
        self.protos = torch.randn(8, 1, 16, 16, generator=g)
        self.protos = F.avg_pool2d(self.protos, 3, 1, 1) * 2
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, 8, (length,), generator=g)
        self.noise = 1.3 * torch.randn(length, 1, 16, 16, generator=g)
        self.with_label = with_label

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        x = self.protos[self.labels[idx]] + self.noise[idx]
        if self.with_label:
            return x, self.labels[idx]
        return x


class EMA():
    def __init__(self, beta):
        self.beta = beta

    def update_average(self, old, new):
        return old * self.beta + (1 - self.beta) * new


def MLP(dim, projection_size, hidden_size=64):
    return nn.Sequential(nn.Linear(dim, hidden_size), nn.BatchNorm1d(hidden_size), nn.ReLU(),
                         nn.Linear(hidden_size, projection_size))


class RandomAugment(nn.Module):
    def forward(self, x):
        shift = torch.randint(-1, 2, (2,)).tolist()
        x = torch.roll(x, shifts=shift, dims=(2, 3))
        gain = 0.8 + 0.4 * torch.rand(x.size(0), 1, 1, 1)
        keep = (torch.rand(x.size(0), 1, 16, 16) > 0.15).float()
        return x * gain * keep + 0.1 * torch.randn_like(x)


class BYOL(nn.Module):
    def __init__(self, net, dim, projection_size=32, moving_average_decay=0.97):
        super().__init__()
        self.net = net
        self.augment1 = RandomAugment()
        self.augment2 = RandomAugment()
        self.online_projector = MLP(dim, projection_size)
        self.online_predictor = MLP(projection_size, projection_size)
        self.target_net = copy.deepcopy(net)
        self.target_projector = copy.deepcopy(self.online_projector)
        for p in list(self.target_net.parameters()) + list(self.target_projector.parameters()):
            p.requires_grad = False
        self.target_ema_updater = EMA(moving_average_decay)

    def update_moving_average(self):
        online = list(self.net.parameters()) + list(self.online_projector.parameters())
        target = list(self.target_net.parameters()) + list(self.target_projector.parameters())
        for current, ma in zip(online, target):
            ma.data = self.target_ema_updater.update_average(ma.data, current.data)

    def forward(self, x):
        one, two = self.augment1(x), self.augment2(x)
        pred_one = self.online_predictor(self.online_projector(self.net(one)))
        pred_two = self.online_predictor(self.online_projector(self.net(two)))
        with torch.no_grad():
            target_one = self.target_projector(self.target_net(one)).detach()
            target_two = self.target_projector(self.target_net(two)).detach()
        loss = loss_fn(pred_one, target_two) + loss_fn(pred_two, target_one)
        return loss.mean()


class BYOLTrainer(nn.Module):
    def __init__(self, net, *, dim, learning_rate, dataset, num_train_steps, batch_size=64,
                 optimizer_klass=Adam, log_every=20):
        super().__init__()
        self.net = net
        self.byol = BYOL(net, dim)
        self.optimizer = optimizer_klass(self.byol.parameters(), lr=learning_rate)
        self.dataloader = DataLoader(dataset, shuffle=True, batch_size=batch_size, drop_last=True)
        self.num_train_steps = num_train_steps
        self.log_every = log_every
        self.register_buffer('step', torch.tensor(0))

    def forward(self):
        step = self.step.item()
        data_it = cycle(self.dataloader)
        self.byol.train()
        for _ in range(self.num_train_steps):
            images = next(data_it)
            loss = self.byol(images)
            loss.backward()
            if step % self.log_every == 0:
                print(f'loss {loss.item():.3f}')
            self.optimizer.zero_grad()  # here
            self.optimizer.step()
            self.byol.update_moving_average()
            step += 1
        print('training complete')


def linear_probe(net, train_set, test_set):
    net.eval()

    def features(ds):
        x, y = next(iter(DataLoader(ds, batch_size=len(ds))))
        with torch.no_grad():
            return net(x), y

    fx, fy = features(train_set)
    tx, ty = features(test_set)
    head = nn.Linear(fx.size(1), 8)
    opt = Adam(head.parameters(), lr=1e-2)
    for _ in range(200):
        loss = F.cross_entropy(head(fx), fy)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return (head(tx).argmax(1) == ty).float().mean().item()


if __name__ == '__main__':
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(),
                        nn.MaxPool2d(2), nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24),
                        nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
    trainer = BYOLTrainer(net, dim=96, learning_rate=1e-3, num_train_steps=160,
                          dataset=PatternDataset(512, seed=1))
    trainer()
    acc = linear_probe(net, PatternDataset(64, 2, True), PatternDataset(400, 3, True))
    print('accuracy of a linear probe {:.3f}'.format(acc))
