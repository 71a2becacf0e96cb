r"""Autoencoder pretrained on spectrograms of small quakes before they are clustered.

Source: https://github.com/NeptuneProjects/RISCluster/issues/1
Fault: the early stopping is asked in the loop over the validation batches instead of once per
    epoch: its patience counts batches that are not the best so far, and the training ends after
    the first epoch or two.
Cause: (early.?stop\w*|patience|counter).{0,140}(batch|per epoch|once (an|per|each) epoch
    |every iteration|inside|inner|loop over)
    |(batch(es)?|inner loop).{0,120}(early.?stop\w*|patience|counter)
Place: early_stopping|EarlyStopping|patience|counter|pretrain|batch|early_stop
"""
import os
import tempfile
import time

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class SeismicDataset(Dataset):
    def __init__(self, num, seed):
        rng = np.random.RandomState(seed)
        f, t = np.mgrid[0:24, 0:24].astype(np.float32)
        self.specs = []
        for _ in range(num):
            kind = rng.randint(3)
            f0, t0 = rng.uniform(5, 18, 2)
            if kind == 0:
                s = np.exp(-((f - f0) / 3) ** 2) * np.exp(-np.clip(t - t0, 0, 99) / 6) * (t >= t0)
            elif kind == 1:
                s = np.exp(-((f - f0 - 0.5 * (t - 12)) / 2) ** 2)
            else:
                s = np.exp(-((f - f0) / 1.5) ** 2) * (0.5 + 0.5 * np.sin(t / 2 + t0))
            s = s + 0.03 * np.abs(rng.randn(24, 24))
            self.specs.append((s / s.max()).astype(np.float32)[None])

    def __len__(self):
        return len(self.specs)

    def __getitem__(self, idx):
        return torch.from_numpy(self.specs[idx])


class Encoder(nn.Module):
    def __init__(self):
        super(Encoder, self).__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(),
                                 nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(),
                                 nn.Flatten(), nn.Linear(16 * 36, 10))

    def forward(self, x):
        return self.net(x)


class Decoder(nn.Module):
    def __init__(self):
        super(Decoder, self).__init__()
        self.fc = nn.Linear(10, 16 * 36)
        self.net = nn.Sequential(nn.ReLU(),
                                 nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1), nn.ReLU(),
                                 nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1))

    def forward(self, z):
        return self.net(self.fc(z).view(-1, 16, 6, 6))


class AEC(nn.Module):
    def __init__(self):
        super(AEC, self).__init__()
        self.encoder = Encoder()
        self.decoder = Decoder()

    def forward(self, x):
        z = self.encoder(x)
        return self.decoder(z), z


class EarlyStopping:
    def __init__(self, patience, path):
        self.patience = patience
        self.path = path
        self.best = np.inf
        self.counter = 0

    def __call__(self, loss, model):
        if loss < self.best:
            self.best = loss
            self.counter = 0
            torch.save(model.state_dict(), self.path)
        else:
            self.counter += 1
        return self.counter >= self.patience


def batch_training(model, dataloader, optimizer, metric):
    model.train()
    running_loss = 0.0
    running_size = 0
    for batch in dataloader:
        optimizer.zero_grad()
        x_rec, _ = model(batch)
        loss = metric(x_rec, batch)
        loss.backward()
        optimizer.step()
        running_loss += loss.item() * batch.size(0)
        running_size += batch.size(0)
    return running_loss / running_size


def pretrain(model, dataloaders, metrics, parameters):
    n_epochs = parameters['n_epochs']
    tra_loader, val_loader = dataloaders
    optimizer = torch.optim.Adam(model.parameters(), lr=parameters['lr'])
    savepath = os.path.join(tempfile.mkdtemp(), 'AEC_Params.pt')
    early_stopping = EarlyStopping(parameters['patience'], savepath)
    finished = False
    history = []
    for epoch in range(n_epochs):
        tic = time.time()
        tra_loss = batch_training(model, tra_loader, optimizer, metrics[0])

        model.eval()
        running_loss = np.zeros((len(metrics),))
        running_size = 0
        for batch in val_loader:
            with torch.no_grad():
                x_rec, _ = model(batch)
                losses = [metric(x_rec, batch).item() for metric in metrics]
            running_loss += np.array(losses) * batch.size(0)
            running_size += batch.size(0)
            if early_stopping(losses[0], model):  # here
                finished = True
                break
        epoch_loss = running_loss / running_size
        history.append(epoch_loss[0])
        print('Epoch [{}/{}] | Training MSE: {:.5f} | Validation MSE: {:.5f} MAE: {:.5f} | {:.1f}s'
              .format(epoch + 1, n_epochs, tra_loss, epoch_loss[0], epoch_loss[1],
                      time.time() - tic))
        if finished:
            print('Early stopping: no improvement of the validation loss')
            break
    model.load_state_dict(torch.load(savepath))
    return model, history


if __name__ == '__main__':
    torch.manual_seed(2009)
    parameters = {'batch_size': 32, 'lr': 2e-3, 'n_epochs': 40, 'patience': 8}
    tra_loader = DataLoader(SeismicDataset(512, 0), batch_size=parameters['batch_size'],
                            shuffle=True)
    val_loader = DataLoader(SeismicDataset(320, 1), batch_size=16)
    test = torch.stack([s for s in SeismicDataset(128, 2)])

    model = AEC()
    print('Parameters: %d' % sum(p.numel() for p in model.parameters()))
    metrics = [nn.MSELoss(), nn.L1Loss()]
    model, history = pretrain(model, (tra_loader, val_loader), metrics, parameters)
    model.eval()
    with torch.no_grad():
        rec, z = model(test)
    print('Trained for {} epochs, test MSE {:.5f}, variance of the data {:.5f}'.format(
        len(history), nn.functional.mse_loss(rec, test).item(), test.var().item()))
