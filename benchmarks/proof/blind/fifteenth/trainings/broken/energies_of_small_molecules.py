r"""Potential of small molecules from distances, with a data module that splits and batches.

Source: https://github.com/choderalab/modelforge/pull/129
Fault: the training loader never shuffles, and the conformations lie in the file molecule by
    molecule: each epoch goes through the sizes in the same order and the net drifts to the last
    ones it saw.
Cause: shuffl
    |(same|fixed|sorted|sequential|file) order
    |(order|sorted|sequence).{0,100}(each|every|all) epoch
    |(batch(es)?|samples|data).{0,80}(sorted|ordered|in order|one (class|size|kind|molecule)|grouped
    |consecutive)
    |not (in )?random order
Place: train_dataloader|DataLoader|train_dataset|shuffle|DataModule
"""
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

MAX_ATOMS = 8


def soft_pairs(coord, charges):
    d = (coord[:, None] - coord[None]).norm(dim=-1) + torch.eye(len(coord))
    q = charges[:, None] * charges[None]
    e = q * (torch.exp(-2 * (d - 1)) - 1.4 * torch.exp(-(d - 1)))
    return (e.sum() - e.diagonal().sum()) / 2


class MoleculeFile:
    """Conformations as they lie in the file: all of one molecule, then all of the next."""

    def __init__(self, molecules=24, conformations=28, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.records = []
        for m in range(molecules):
            n = 2 + m * (MAX_ATOMS - 2) // (molecules - 1)
            charges = 0.5 + torch.randint(1, 4, (n,), generator=g).float() / 2
            base = torch.randn(n, 3, generator=g) * (0.6 * n ** (1 / 3) + 0.3)
            for _ in range(conformations):
                coord = base + 0.15 * torch.randn(n, 3, generator=g)
                energy = soft_pairs(coord, charges) - 1.5 * charges.sum()
                self.records.append((m, charges, coord, energy))


class TorchDataset(Dataset):
    def __init__(self, records):
        self.records = records

    def __len__(self):
        return len(self.records)

    def __getitem__(self, idx):
        _, charges, coord, energy = self.records[idx]
        n = len(charges)
        q = torch.zeros(MAX_ATOMS)
        r = torch.zeros(MAX_ATOMS, 3)
        mask = torch.zeros(MAX_ATOMS)
        q[:n], r[:n], mask[:n] = charges, coord, 1
        return {'charges': q, 'positions': r, 'mask': mask, 'E': energy.reshape(1)}


class DataModule:
    def __init__(self, batch_size=16, seed=0):
        self.batch_size = batch_size
        self.seed = seed

    def prepare_data(self):
        self.file = MoleculeFile(seed=self.seed)
        mean = torch.stack([rec[3] for rec in self.file.records])
        self.mean, self.std = mean.mean(), mean.std()

    def setup(self):
        records = [(m, q, r, (e - self.mean) / self.std) for m, q, r, e in self.file.records]
        val = records[::7]
        train = [rec for i, rec in enumerate(records) if i % 7]
        self.train_dataset = TorchDataset(train)
        self.val_dataset = TorchDataset(val)

    def train_dataloader(self):
        return DataLoader(self.train_dataset, batch_size=self.batch_size)  # here

    def val_dataloader(self):
        return DataLoader(self.val_dataset, batch_size=64)


class RadialBasis(nn.Module):
    def __init__(self, n=12, cutoff=5.0):
        super().__init__()
        self.register_buffer('centers', torch.linspace(0, cutoff, n))
        self.gamma = n / cutoff

    def forward(self, d):
        return torch.exp(-self.gamma * (d[..., None] - self.centers) ** 2)


class SchNetLike(nn.Module):
    def __init__(self, features=32, interactions=2):
        super().__init__()
        self.rbf = RadialBasis()
        self.embed = nn.Linear(1, features)
        self.filters = nn.ModuleList(
            [nn.Sequential(nn.Linear(12, features), nn.Softplus(), nn.Linear(features, features))
             for _ in range(interactions)])
        self.updates = nn.ModuleList(
            [nn.Sequential(nn.Linear(features, features), nn.Softplus(),
                           nn.Linear(features, features)) for _ in range(interactions)])
        self.readout = nn.Sequential(nn.Linear(features, features), nn.Softplus(),
                                     nn.Linear(features, 1))

    def forward(self, batch):
        r, mask = batch['positions'], batch['mask']
        d = torch.sqrt(((r[:, :, None] - r[:, None]) ** 2).sum(-1) + 1e-8)
        pair = mask[:, :, None] * mask[:, None] * (1 - torch.eye(MAX_ATOMS))
        x = self.embed(batch['charges'][..., None])
        basis = self.rbf(d)
        for f, u in zip(self.filters, self.updates):
            w = f(basis) * pair[..., None]
            x = x + u((w * x[:, None]).sum(2) / math.sqrt(MAX_ATOMS))
        return (self.readout(x).squeeze(-1) * mask).sum(1, keepdim=True)


class TrainingAdapter:
    def __init__(self, model, lr=5e-3):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def training_step(self, batch):
        loss = nn.functional.mse_loss(self.model(batch), batch['E'])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def validation(self, loader):
        err = torch.cat([(self.model(b) - b['E']).abs() for b in loader])
        return err.mean().item()

    def fit(self, module, max_epochs):
        train_loader, val_loader = module.train_dataloader(), module.val_dataloader()
        for epoch in range(max_epochs):
            self.model.train()
            losses = [self.training_step(b) for b in train_loader]
            self.model.eval()
            print('epoch {:2d} train mse {:.4f} (first {:.4f} last {:.4f}) val mae {:.4f}'.format(
                epoch, sum(losses) / len(losses), losses[0], losses[-1],
                self.validation(val_loader)))


if __name__ == '__main__':
    torch.manual_seed(0)
    module = DataModule(batch_size=16)
    module.prepare_data()
    module.setup()
    adapter = TrainingAdapter(SchNetLike())
    adapter.fit(module, max_epochs=20)
