r"""Autoencoder of fluorescence patches of proteins, trained by a small trainer class.

Source: https://github.com/royerlab/cytoself/issues/29
Fault: the counter of epochs without improvement is never set back to zero when the validation
    loss improves, so the epochs that it counts need not be consecutive and the training ends
    far too early although the loss still falls.
Cause: (count|patience|wait|early.?stop).{0,90}(never|not|n't|without).{0,40}(reset|zero|clear
    |restart|set back)|(never|not|n't|without).{0,30}(reset|zero|clear|restart
    |set back).{0,90}(count|patience|wait|early.?stop)|not consecutive|need not be consecutive
    |(in total|overall|cumulative).{0,40}(instead|rather).{0,40}(consecutive|row)
    |count\w*.{0,60}accumulat\w+|only (ever )?(grows|goes up|increases)|(all|total|any
    |every).{0,30}(epochs?|bad|without improvement).{0,50}(row|consecutive|successi)
    |count_early_stop.{0,80}(grows|goes up|increas|add)
Place: count_early_stop|best_vloss|early_?stop|fit
"""
import os
import tempfile
from copy import deepcopy

import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
np.random.seed(0)


def make_patches(n, size=16):
    yy, xx = np.mgrid[0:size, 0:size] / size
    out = np.zeros((n, 1, size, size), dtype=np.float32)
    for i in range(n):
        cx, cy = np.random.uniform(0.3, 0.7, 2)
        r = np.random.uniform(0.12, 0.3)
        d = np.sqrt((xx - cx) ** 2 + (yy - cy) ** 2)
        if i % 2:
            out[i, 0] = np.exp(-(d - r) ** 2 / 0.004)
        else:
            out[i, 0] = np.exp(-d ** 2 / (2 * r ** 2))
    out += 0.05 * np.random.randn(*out.shape)
    return torch.tensor(out, dtype=torch.float32)


class Encoder(nn.Module):
    def __init__(self, emb_dim=24):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.fc = nn.Linear(32 * 4 * 4, emb_dim)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x))
        return self.fc(x.flatten(1))


class Decoder(nn.Module):
    def __init__(self, emb_dim=24):
        super().__init__()
        self.fc = nn.Linear(emb_dim, 32 * 4 * 4)
        self.up1 = nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1)
        self.up2 = nn.ConvTranspose2d(16, 1, 4, stride=2, padding=1)

    def forward(self, z):
        x = torch.relu(self.fc(z)).view(-1, 32, 4, 4)
        x = torch.relu(self.up1(x))
        return self.up2(x)


class Autoencoder(nn.Module):
    def __init__(self, emb_dim=24):
        super().__init__()
        self.encoder = Encoder(emb_dim)
        self.decoder = Decoder(emb_dim)

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Trainer:
    def __init__(self, model, train_args, savepath):
        self.model = model
        self.train_args = train_args
        self.savepath = savepath
        self.best_model = None
        self.current_epoch = 0
        self.history = []
        self.optimizer = optim.Adam(model.parameters(), lr=train_args["lr"])

    def calc_loss_one_batch(self, batch):
        x = batch[0]
        noisy = x + 0.1 * torch.randn_like(x)
        return nn.functional.mse_loss(self.model(noisy), x)

    def train_one_epoch(self, data_loader):
        self.model.train(True)
        total = 0.0
        for batch in data_loader:
            self.optimizer.zero_grad()
            loss = self.calc_loss_one_batch(batch)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(data_loader)

    @torch.inference_mode()
    def run_one_epoch(self, data_loader):
        self.model.eval()
        return float(np.mean([self.calc_loss_one_batch(b).item() for b in data_loader]))

    def save_checkpoint(self):
        torch.save(self.model.state_dict(), os.path.join(self.savepath, "best.pt"))

    def fit(self, train_loader, val_loader):
        best_vloss = float("inf")
        count_early_stop = 0
        for current_epoch in range(self.train_args["max_epoch"]):
            tloss = self.train_one_epoch(train_loader)
            _vloss = self.run_one_epoch(val_loader)
            self.history.append((tloss, _vloss))
            if _vloss < best_vloss:
                best_vloss = _vloss  # here
                self.best_model = deepcopy(self.model)
                self.save_checkpoint()
            else:
                count_early_stop += 1
            print(f"epoch {current_epoch + 1}: train {tloss:.5f} val {_vloss:.5f}")
            if count_early_stop >= self.train_args["earlystop_patience"]:
                print("Early stopping.")
                break
        self.model = self.best_model
        return best_vloss


if __name__ == "__main__":
    train_loader = DataLoader(TensorDataset(make_patches(384)), batch_size=32, shuffle=True)
    val_loader = DataLoader(TensorDataset(make_patches(48)), batch_size=48)
    test_loader = DataLoader(TensorDataset(make_patches(256)), batch_size=64)
    args = {"lr": 2e-3, "max_epoch": 60, "earlystop_patience": 6}
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(Autoencoder(), args, folder)
        best = trainer.fit(train_loader, val_loader)
    print("epochs:", len(trainer.history), "best val:", round(best, 5))
    print("test:", round(trainer.run_one_epoch(test_loader), 5))
