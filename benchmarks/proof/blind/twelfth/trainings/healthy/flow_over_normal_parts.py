r"""Normalizing flow over features of faultless parts; odd parts get a low likelihood.

Source: https://github.com/marco-rudolph/cs-flow/issues/28
Healthy: the loss becomes negative in the training; it is a negative log-likelihood of a density
    without its constant, and may have any sign.
"""
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
np.random.seed(0)

# config
n_coupling_blocks = 6
clamp = 3.0
fc_internal = 64
lr_init = 2e-3
meta_epochs = 3
sub_epochs = 4
batch_size = 64
n_feat = 12


def load_features(n, odd=False):
    z = np.random.randn(n, 4)
    w = np.random.RandomState(1).randn(4, n_feat)
    x = np.tanh(z @ w / 2) + 0.05 * np.random.randn(n, n_feat)
    if odd:
        which = np.random.randint(n_feat, size=n)
        x[np.arange(n), which] += np.random.choice([-1, 1], n) * np.random.uniform(0.4, 1.0, n)
    return torch.tensor(x, dtype=torch.float32)


class subnet(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(c_in, fc_internal), nn.ReLU(),
                                 nn.Linear(fc_internal, fc_internal), nn.ReLU(),
                                 nn.Linear(fc_internal, c_out))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        return self.net(x)


class permute_coupling(nn.Module):
    """Coupling layer with a fixed permutation and a soft clamp of the scales"""

    def __init__(self, dims, seed):
        super().__init__()
        self.split1 = dims // 2
        self.split2 = dims - self.split1
        perm = np.random.RandomState(seed).permutation(dims)
        self.register_buffer("perm", torch.tensor(perm))
        self.s1 = subnet(self.split1, self.split2 * 2)
        self.s2 = subnet(self.split2, self.split1 * 2)

    def log_e(self, s):
        return clamp * 0.636 * torch.atan(s / clamp)

    def forward(self, x):
        x = x[:, self.perm]
        x1, x2 = x[:, :self.split1], x[:, self.split1:]
        r2 = self.s2(x2)
        s2, t2 = r2[:, :self.split1], r2[:, self.split1:]
        y1 = torch.exp(self.log_e(s2)) * x1 + t2
        r1 = self.s1(y1)
        s1, t1 = r1[:, :self.split2], r1[:, self.split2:]
        y2 = torch.exp(self.log_e(s1)) * x2 + t1
        jac = self.log_e(s1).sum(dim=1) + self.log_e(s2).sum(dim=1)
        return torch.cat([y1, y2], dim=1), jac


class CSFlow(nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.blocks = nn.ModuleList([permute_coupling(dims, i) for i in range(n_coupling_blocks)])

    def forward(self, x):
        total = 0
        for block in self.blocks:
            x, jac = block(x)
            total = total + jac
        return x, total


def get_loss(z, jac):
    return torch.mean(0.5 * torch.sum(z ** 2, dim=1) - jac) / z.shape[1]


def auroc(normal, odd):
    return (odd[:, None] > normal[None, :]).float().mean().item()


def train(train_loader, test_normal, test_odd):
    model = CSFlow(n_feat)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr_init, betas=(0.9, 0.999), eps=1e-4,
                                 weight_decay=1e-5)
    best = 0
    for epoch in range(meta_epochs):
        model.train()
        for sub_epoch in range(sub_epochs):
            train_loss = list()
            for (data,) in train_loader:
                optimizer.zero_grad()
                z, log_jac_det = model(data)
                loss = get_loss(z, log_jac_det)
                train_loss.append(loss.item())
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                optimizer.step()
            print("Epoch: {:d}.{:d} \t train loss: {:.4f}".format(
                epoch, sub_epoch, np.mean(train_loss)))
        model.eval()
        with torch.no_grad():
            score = [torch.mean(model(x)[0] ** 2, dim=1) for x in (test_normal, test_odd)]
        best = max(best, auroc(*score))
        print("AUROC \t last: {:.4f} \t max: {:.4f}".format(auroc(*score), best))
    return model


if __name__ == "__main__":
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(load_features(1500)),
                                         batch_size=batch_size, shuffle=True)
    train(loader, load_features(300), load_features(300, odd=True))
