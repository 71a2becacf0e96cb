r"""A hybrid forecaster: exponential smoothing with parameters per series and a dilated LSTM on top.

Source: https://github.com/kgmonkhin/ESRNN-GPU/issues/21
Healthy: the epoch loss is divided by batch_num + 1, which looks as if it were made smaller after
    every batch; the division stands outside the loop, and there are two optimizers on purpose.
"""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
np.random.seed(0)

SEASON, INPUT, OUTPUT = 6, 12, 6


class SeriesDataset(Dataset):
    def __init__(self, n=48, length=60):
        rng = np.random.RandomState(0)
        t = np.arange(length)
        rows = []
        for _ in range(n):
            level = rng.uniform(20, 80)
            trend = rng.uniform(-0.2, 0.6)
            season = 1 + 0.3 * np.sin(2 * np.pi * (t / SEASON + rng.rand()))
            rows.append((level + trend * t) * season * np.exp(rng.normal(0, 0.02, length)))
        self.data = torch.tensor(np.array(rows), dtype=torch.float32)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, idx):
        return self.data[idx], idx


class ESRNN(nn.Module):
    def __init__(self, num_series):
        super().__init__()
        self.lev_sms = nn.Parameter(torch.full((num_series,), -1.0))
        self.seas_sms = nn.Parameter(torch.full((num_series,), -1.0))
        self.init_seas = nn.Parameter(torch.zeros(num_series, SEASON))
        self.lstm = nn.LSTM(INPUT, 32, batch_first=True)
        self.nl = nn.Linear(32, 32)
        self.scoring = nn.Linear(32, OUTPUT)

    def smooth(self, y, idx):
        a = torch.sigmoid(self.lev_sms[idx])
        g = torch.sigmoid(self.seas_sms[idx])
        seas = list(torch.exp(self.init_seas[idx]).unbind(1))
        seas.append(seas[0])
        levs = [y[:, 0] / seas[0]]
        for i in range(1, y.size(1)):
            lev = a * (y[:, i] / seas[i]) + (1 - a) * levs[-1]
            levs.append(lev)
            seas.append(g * (y[:, i] / lev) + (1 - g) * seas[i])
        return torch.stack(levs, 1), torch.stack(seas, 1)

    def windows(self, y, levs, seas):
        ins, outs = [], []
        for i in range(INPUT - 1, y.size(1)):
            w = y[:, i - INPUT + 1:i + 1] / seas[:, i - INPUT + 1:i + 1] / levs[:, i:i + 1]
            ins.append(torch.log(w))
            if i + OUTPUT < y.size(1):
                o = y[:, i + 1:i + 1 + OUTPUT] / seas[:, i + 1:i + 1 + OUTPUT] / levs[:, i:i + 1]
                outs.append(torch.log(o))
        return torch.stack(ins, 1), torch.stack(outs, 1)

    def forward(self, y, idx):
        levs, seas = self.smooth(y, idx)
        ins, outs = self.windows(y, levs, seas)
        h, _ = self.lstm(ins)
        pred = self.scoring(torch.tanh(self.nl(h)))
        coming = seas[:, y.size(1):y.size(1) + OUTPUT]
        forecast = torch.exp(pred[:, -1]) * levs[:, -1:] * coming
        return pred[:, :outs.size(1)], outs, forecast


class PinballLoss(nn.Module):
    def __init__(self, tau=0.5):
        super().__init__()
        self.tau = tau

    def forward(self, pred, actual):
        d = actual - pred
        return torch.max(self.tau * d, (self.tau - 1) * d).mean()


class ESRNNTrainer:
    def __init__(self, model, dataloader, epochs=8):
        self.model, self.dl, self.epochs = model, dataloader, epochs
        es = [model.lev_sms, model.seas_sms, model.init_seas]
        ids = set(id(p) for p in es)
        rnn = [p for p in model.parameters() if id(p) not in ids]
        self.optimizers = [torch.optim.Adam(es, lr=0.05), torch.optim.Adam(rnn, lr=0.01)]
        self.criterion = PinballLoss()

    def train_epochs(self):
        for e in range(self.epochs):
            loss = self.train()
            print('Epoch %d pinball %.5f' % (e, loss))

    def train(self):
        self.model.train()
        epoch_loss = 0
        for batch_num, (series, idx) in enumerate(self.dl):
            epoch_loss += self.train_batch(series[:, :-OUTPUT], idx)
        epoch_loss = epoch_loss / (batch_num + 1)
        return epoch_loss

    def train_batch(self, y, idx):
        for o in self.optimizers:
            o.zero_grad()
        pred, actual, _ = self.model(y, idx)
        loss = self.criterion(pred, actual)
        loss.backward()
        nn.utils.clip_grad_value_(self.model.parameters(), 20)
        for o in self.optimizers:
            o.step()
        return loss.item()


def smape(a, b):
    return float((200 * (a - b).abs() / (a.abs() + b.abs())).mean())


if __name__ == '__main__':
    dataset = SeriesDataset()
    model = ESRNN(len(dataset))
    dl = DataLoader(dataset, batch_size=12, shuffle=True)
    held, y = dataset.data[:, -OUTPUT:], dataset.data[:, :-OUTPUT]
    ESRNNTrainer(model, dl).train_epochs()
    model.eval()
    with torch.no_grad():
        _, _, forecast = model(y, torch.arange(len(dataset)))
    print('smape of the forecast %.2f, of the last value %.2f, of the last season %.2f' % (
        smape(forecast, held), smape(y[:, -1:].expand_as(held), held),
        smape(y[:, -SEASON:], held)))
