r"""Masked pretraining on sensor series, then classification from few labels with the same encoder.

Source: https://github.com/mims-harvard/UniTS/issues/14
Healthy: the checkpoint is loaded with strict=False and keys are missing and unexpected; they are
    the head of the pretraining and the new class tokens, the whole encoder is loaded.
"""
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
np.random.seed(0)

LENGTH, PATCH, DIM, CLASSES = 64, 8, 48, 4


def make_series(n):
    t = np.arange(LENGTH) / LENGTH
    labels = np.random.randint(CLASSES, size=n)
    x = np.zeros((n, LENGTH))
    for i, c in enumerate(labels):
        f = np.random.uniform(3, 6)
        phase = 2 * np.pi * (f * t + np.random.rand())
        if c == 0:
            x[i] = np.sin(phase)
        elif c == 1:
            x[i] = np.sign(np.sin(phase))
        elif c == 2:
            x[i] = (phase / np.pi) % 2 - 1
        else:
            x[i] = np.sin(phase) * np.sin(np.pi * t * 2)
    x = x * np.random.uniform(0.7, 1.3, (n, 1)) + 0.15 * np.random.randn(n, LENGTH)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(labels)


class Block(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, pretrain=False, class_num=None):
        super().__init__()
        self.patch_embeddings = nn.Linear(PATCH, DIM)
        self.position = nn.Parameter(0.02 * torch.randn(1, LENGTH // PATCH, DIM))
        self.mask_token = nn.Parameter(torch.zeros(1, 1, DIM))
        self.blocks = nn.ModuleList([Block(DIM) for _ in range(2)])
        self.norm = nn.LayerNorm(DIM)
        if pretrain:
            self.pretrain_head = nn.Sequential(nn.Linear(DIM, DIM), nn.GELU(),
                                               nn.Linear(DIM, PATCH))
        if class_num is not None:
            self.cls_token = nn.Parameter(0.02 * torch.randn(1, 1, DIM))
            self.category_tokens = nn.Linear(DIM, class_num)

    def tokens(self, x):
        return self.patch_embeddings(x.view(len(x), -1, PATCH))

    def encode(self, h):
        for block in self.blocks:
            h = block(h)
        return self.norm(h)

    def pretraining(self, x, mask_ratio=0.4):
        h = self.tokens(x)
        mask = torch.rand(h.shape[:2]) < mask_ratio
        h = torch.where(mask.unsqueeze(2), self.mask_token, h) + self.position
        rec = self.pretrain_head(self.encode(h))
        return F.mse_loss(rec[mask], x.view(len(x), -1, PATCH)[mask])

    def classification(self, x):
        h = self.tokens(x) + self.position
        h = torch.cat([self.cls_token.expand(len(x), -1, -1), h], dim=1)
        h = self.encode(h)
        return self.category_tokens(h[:, 0] + h[:, 1:].mean(1))


def pretrain(path, epochs=6):
    x, _ = make_series(1600)
    model = Model(pretrain=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        losses = []
        for (batch,) in DataLoader(TensorDataset(x), batch_size=64, shuffle=True):
            loss = model.pretraining(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print("Epoch %d pretraining loss %.4f" % (epoch + 1, np.mean(losses)))
    torch.save({"student": model.state_dict()}, path)


def finetune(path=None, epochs=20):
    torch.manual_seed(5)
    model = Model(class_num=CLASSES)
    if path is not None:
        print("loading pretrained model:", os.path.basename(path))
        state_dict = torch.load(path)["student"]
        ckpt = {k: v for k, v in state_dict.items()}
        msg = model.load_state_dict(ckpt, strict=False)
        print(msg)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    np.random.seed(9)
    train = TensorDataset(*make_series(40))
    x_test, y_test = make_series(500)
    for epoch in range(epochs):
        model.train()
        for x, y in DataLoader(train, batch_size=16, shuffle=True):
            loss = F.cross_entropy(model.classification(x), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    model.eval()
    with torch.no_grad():
        return (model.classification(x_test).argmax(1) == y_test).float().mean().item()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pretrain_checkpoint.pth")
        pretrain(path)
        print("accuracy after pretraining: %.3f" % finetune(path))
    print("accuracy from scratch: %.3f" % finetune())
