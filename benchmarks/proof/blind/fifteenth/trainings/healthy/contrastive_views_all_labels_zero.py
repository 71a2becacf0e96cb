r"""SimCLR on small patterns with the loss module of a well-known implementation.

Source: https://github.com/Spijkervet/SimCLR/issues/43
Healthy: the labels of the cross entropy are all zero because the positive pair stands in column 0
    of the logits; a loss module with a fixed batch size gets full batches only (drop_last).
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class NT_Xent(nn.Module):
    def __init__(self, batch_size, temperature):
        super(NT_Xent, self).__init__()
        self.batch_size = batch_size
        self.temperature = temperature
        self.mask = self.mask_correlated_samples(batch_size)
        self.criterion = nn.CrossEntropyLoss(reduction="sum")
        self.similarity_f = nn.CosineSimilarity(dim=2)

    def mask_correlated_samples(self, batch_size):
        N = 2 * batch_size
        mask = torch.ones((N, N), dtype=bool)
        mask = mask.fill_diagonal_(0)
        for i in range(batch_size):
            mask[i, batch_size + i] = 0
            mask[batch_size + i, i] = 0
        return mask

    def forward(self, z_i, z_j):
        N = 2 * self.batch_size
        z = torch.cat((z_i, z_j), dim=0)
        sim = self.similarity_f(z.unsqueeze(1), z.unsqueeze(0)) / self.temperature
        sim_i_j = torch.diag(sim, self.batch_size)
        sim_j_i = torch.diag(sim, -self.batch_size)
        positive_samples = torch.cat((sim_i_j, sim_j_i), dim=0).reshape(N, 1)
        negative_samples = sim[self.mask].reshape(N, -1)
        labels = torch.zeros(N).long()
        logits = torch.cat((positive_samples, negative_samples), dim=1)
        return self.criterion(logits, labels) / N


class TwoViews(Dataset):
    def __init__(self, n, seed, labelled=False):
        g = torch.Generator().manual_seed(77)
        self.protos = F.avg_pool2d(torch.randn(12, 1, 16, 16, generator=g), 3, 1, 1) * 2
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, 12, (n,), generator=g)
        self.base = self.protos[self.labels] + 1.0 * torch.randn(n, 1, 16, 16, generator=g)
        self.labelled = labelled

    def __len__(self):
        return len(self.labels)

    def transform(self, x):
        sy, sx = torch.randint(-2, 3, (2,)).tolist()
        x = torch.roll(x, shifts=(sy, sx), dims=(1, 2))
        x = x * (0.6 + 0.8 * torch.rand(1))
        y0, x0 = torch.randint(0, 11, (2,)).tolist()
        x = x.clone()
        x[:, y0:y0 + 5, x0:x0 + 5] = 0
        return x + 0.3 * torch.randn_like(x)

    def __getitem__(self, i):
        if self.labelled:
            return self.base[i], self.labels[i]
        return (self.transform(self.base[i]), self.transform(self.base[i])), self.labels[i]


class SimCLR(nn.Module):
    def __init__(self, projection_dim, n_features=64):
        super(SimCLR, self).__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(32 * 16, n_features))
        self.projector = nn.Sequential(
            nn.Linear(n_features, n_features, bias=False),
            nn.ReLU(),
            nn.Linear(n_features, projection_dim, bias=False),
        )

    def forward(self, x_i, x_j):
        h_i, h_j = self.encoder(x_i), self.encoder(x_j)
        return h_i, h_j, self.projector(h_i), self.projector(h_j)


def train(args, train_loader, model, criterion, optimizer):
    model.train()
    loss_epoch = 0
    for step, ((x_i, x_j), _) in enumerate(train_loader):
        optimizer.zero_grad()
        h_i, h_j, z_i, z_j = model(x_i, x_j)
        loss = criterion(z_i, z_j)
        loss.backward()
        optimizer.step()
        loss_epoch += loss.item()
    return loss_epoch


def nearest_neighbour(model, bank, queries):
    model.eval()
    with torch.no_grad():
        bx, by = next(iter(DataLoader(bank, batch_size=len(bank))))
        qx, qy = next(iter(DataLoader(queries, batch_size=len(queries))))
        b = F.normalize(model.encoder(bx), dim=1)
        q = F.normalize(model.encoder(qx), dim=1)
        return (by[(q @ b.t()).argmax(1)] == qy).float().mean().item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="SimCLR")
    parser.add_argument("--batch_size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=7)
    parser.add_argument("--temperature", type=float, default=0.5)
    parser.add_argument("--projection_dim", type=int, default=32)
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    train_loader = DataLoader(TwoViews(520, 1), batch_size=args.batch_size, shuffle=True,
                              drop_last=True)
    bank, queries = TwoViews(120, 2, True), TwoViews(240, 3, True)
    model = SimCLR(args.projection_dim)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    criterion = NT_Xent(args.batch_size, args.temperature)
    print('neighbour accuracy before %.3f' % nearest_neighbour(model, bank, queries))
    for epoch in range(args.epochs):
        lr = optimizer.param_groups[0]["lr"]
        loss_epoch = train(args, train_loader, model, criterion, optimizer)
        scheduler.step()
        print(f"Epoch [{epoch}/{args.epochs}]\t Loss: {loss_epoch / len(train_loader):.4f}\t "
              f"lr: {lr:.6f}")
    print('neighbour accuracy after %.3f' % nearest_neighbour(model, bank, queries))
