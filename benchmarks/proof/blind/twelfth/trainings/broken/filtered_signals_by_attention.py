r"""nn.Transformer that maps a signal of several channels to its filtered version.

Source: https://openillumi.com/en/en-pytorch-transformer-multidim-output-same-fix
Fault: the decoder gets a tensor of zeros as its target sequence in training instead of the shifted
    true sequence; all positions of it are alike, so all time steps of the output are the same.
Cause: (decoder|tgt|target).{0,140}(zeros?|constant|empty|identical|all (the )?same|no information
    |shift|teacher forcing|true sequence|previous)|(zeros?|zeros_like|constant).{0,120}(decoder
    |tgt|target (sequence|input))|teacher forcing|(positions?|time steps?
    |queries).{0,80}(identical|alike|indistinguish|the same)
Place: tgt|zeros|zeros_like|decoder_input|train_epoch|decoder
"""
import math

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(8)
np.random.seed(8)

SEQ_LEN = 24
FEATURES = 6


def make_signals(n):
    t = np.arange(SEQ_LEN) / 4.0
    x = np.zeros((n, SEQ_LEN, FEATURES), dtype=np.float32)
    y = np.zeros_like(x)
    for i in range(n):
        for f in range(FEATURES):
            w, p = np.random.uniform(0.5, 1.5), np.random.uniform(0, 2 * np.pi)
            slow = np.sin(w * t + p)
            y[i, :, f] = slow
            x[i, :, f] = slow + 0.3 * np.random.randn(SEQ_LEN)
    return torch.from_numpy(x), torch.from_numpy(y)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.0, max_len=500):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(position * div_term)
        pe[0, :, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return self.dropout(x + self.pe[:, :x.size(1)])


class SignalTransformer(nn.Module):
    def __init__(self, features, d_model=32, nhead=4, layers=2):
        super().__init__()
        self.src_in = nn.Linear(features, d_model)
        self.tgt_in = nn.Linear(features, d_model)
        self.pos = PositionalEncoding(d_model)
        self.transformer = nn.Transformer(d_model, nhead, layers, layers, dim_feedforward=64,
                                          dropout=0.0, batch_first=True)
        self.out = nn.Linear(d_model, features)

    def forward(self, src, tgt):
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.size(1))
        hidden = self.transformer(self.pos(self.src_in(src)), self.tgt_in(tgt), tgt_mask=mask,
                                  tgt_is_causal=True)
        return self.out(hidden)


def decoder_input(y):
    return torch.zeros_like(y)  # here


def train_epoch(model, loader, criterion, optimizer):
    model.train()
    total = 0
    for x, y in loader:
        pred = model(x, decoder_input(y))
        loss = criterion(pred, y)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def validate(model, x, y, criterion):
    model.eval()
    pred = model(x, decoder_input(y))
    return pred, criterion(pred, y).item()


if __name__ == "__main__":
    x_train, y_train = make_signals(400)
    x_test, y_test = make_signals(60)
    loader = DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True)
    model = SignalTransformer(FEATURES)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(11):
        loss = train_epoch(model, loader, criterion, optimizer)
        if epoch % 2 == 0:
            print("epoch %d: train loss %.4f" % (epoch, loss))
    pred, error = validate(model, x_test, y_test, criterion)
    print("test error %.4f, of the unfiltered signal %.4f" % (
        error, criterion(x_test, y_test)))
    print("spread along time: predicted %.4f, true %.4f" % (
        pred.std(1).mean(), y_test.std(1).mean()))
    print(pred[0, ::6, 0])
