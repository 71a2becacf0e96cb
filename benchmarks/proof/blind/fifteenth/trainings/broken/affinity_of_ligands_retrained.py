r"""Binding affinity from a ligand string and a protein string, retrained with the best epoch kept.

Source: https://github.com/THGLab/LP-PDBBind/pull/1
Fault: best_weights keeps a reference to model.state_dict(), whose tensors go on changing with
    the training, so the weights loaded at the end are those of the last (overfitted) epoch.
Cause: (state_dict|best|weights|kept|saved).{0,140}(reference|copy|copied|deepcopy|clone|alias
    |same (tensors?|memory|storage|object)|live|shared? |still point|keeps? changing)
    |(deepcopy|clone)
    |(best|kept|saved)( \w+){0,3} (weights|state|state_dict|model|net|dict).{0,60}(last|final|latest
    |current|later steps)
Place: best_weights|best_model|state_dict|load_state_dict
"""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

CHARISOSMISET = "CNOSPFclBr()=#123[]@+-"
CHARPROTSET = "ACDEFGHIKLMNPQRSTVWY"


def random_string(rng, alphabet, length):
    return ''.join(rng.choice(list(alphabet), size=length))


class PDBBindDataset(Dataset):
    def __init__(self, n, seed, noise):
        rng = np.random.RandomState(seed)
        fixed = np.random.RandomState(123)
        lig_w = fixed.randn(len(CHARISOSMISET))
        prot_w = fixed.randn(len(CHARPROTSET))
        self.items = []
        for _ in range(n):
            smiles = random_string(rng, CHARISOSMISET, 24)
            seq = random_string(rng, CHARPROTSET, 32)
            lig = np.array([CHARISOSMISET.index(c) + 1 for c in smiles])
            pro = np.array([CHARPROTSET.index(c) + 1 for c in seq])
            value = 6.0 + 0.35 * lig_w[lig - 1].sum() + 0.25 * prot_w[pro - 1].sum()
            value += noise * rng.randn()
            self.items.append((lig, pro, np.float32(value)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        lig, pro, y = self.items[i]
        return torch.from_numpy(lig), torch.from_numpy(pro), torch.tensor([y])


class DeepDTA(nn.Module):
    def __init__(self, num_filters=16, ksize=4, emb=24):
        super(DeepDTA, self).__init__()
        self.smi_emb = nn.Embedding(len(CHARISOSMISET) + 1, emb)
        self.pro_emb = nn.Embedding(len(CHARPROTSET) + 1, emb)
        self.smi_conv = nn.Sequential(nn.Conv1d(emb, num_filters, ksize), nn.ReLU(),
                                      nn.Conv1d(num_filters, num_filters * 2, ksize), nn.ReLU())
        self.pro_conv = nn.Sequential(nn.Conv1d(emb, num_filters, ksize), nn.ReLU(),
                                      nn.Conv1d(num_filters, num_filters * 2, ksize), nn.ReLU())
        self.out = nn.Sequential(nn.Linear(num_filters * 4, 128), nn.ReLU(), nn.Linear(128, 128),
                                 nn.ReLU(), nn.Linear(128, 1))

    def forward(self, smi, pro):
        s = self.smi_conv(self.smi_emb(smi).transpose(1, 2)).mean(dim=-1)
        p = self.pro_conv(self.pro_emb(pro).transpose(1, 2)).mean(dim=-1)
        return self.out(torch.cat([s, p], dim=1))


def train_epoch(model, loader, optimizer):
    model.train()
    total = 0.0
    for smi, pro, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(smi, pro), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    return np.sqrt(total / len(loader.dataset))


@torch.no_grad()
def rmse(model, loader):
    model.eval()
    total = 0.0
    for smi, pro, y in loader:
        total += F.mse_loss(model(smi, pro), y, reduction='sum').item()
    return np.sqrt(total / len(loader.dataset))


def run(args):
    torch.manual_seed(args.seed)
    train_loader = DataLoader(PDBBindDataset(240, 0, 1.2), batch_size=args.batch_size,
                              shuffle=True)
    val_loader = DataLoader(PDBBindDataset(200, 1, 1.2), batch_size=100)
    test_loader = DataLoader(PDBBindDataset(400, 2, 1.2), batch_size=100)

    model = DeepDTA()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    best_val = float('inf')
    best_epoch = -1
    best_weights = None
    test_at_best = None
    for epoch in range(args.epochs):
        train_rmse = train_epoch(model, train_loader, optimizer)
        val_rmse = rmse(model, val_loader)
        if val_rmse < best_val:
            best_val = val_rmse
            best_epoch = epoch
            best_weights = model.state_dict()  # here
            test_at_best = rmse(model, test_loader)
        if epoch % 5 == 0 or epoch == args.epochs - 1:
            print('epoch {:3d} train rmse {:.3f} val rmse {:.3f} (best {:.3f} at {})'.format(
                epoch, train_rmse, val_rmse, best_val, best_epoch))

    print('test rmse seen at the best epoch {:.3f}'.format(test_at_best))
    model.load_state_dict(best_weights)
    print('Retrained DeepDTA: train {:.3f} val {:.3f} test {:.3f}'.format(
        rmse(model, train_loader), rmse(model, val_loader), rmse(model, test_loader)))


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=40)
    parser.add_argument('--batch_size', type=int, default=16)
    parser.add_argument('--lr', type=float, default=5e-3)
    parser.add_argument('--seed', type=int, default=0)
    run(parser.parse_args())
