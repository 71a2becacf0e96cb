r"""An encoder and a decoder LSTM that forecast a series from its drivers and the past target.

Source: https://github.com/JulesBelveze/time-series-autoencoder/issues/14
Fault: the decoder without attention is called with the past target only; the state of the encoder
    is not given to it, so the encoder and the driver series do not take part in the forecast.
Cause: (encod\w+|hidden|state|context|driver\w*|cell)\b.*(unused|ignored|discarded|dropped
    |thrown|not (passed|given|used|fed|handed)|never (passed|used|given|reaches|fed|enters?)
    |no gradient|without gradient|does not reach|not part|no influence|no effect|none
    |disconnected)
    |(decoder)\b.*(only|without|ignores?|never|not|zero|zeros|does not (get|see|use
    |receive))\b.*(encod\w+|state|hidden|context|y_hist|past)
    |(gradients?|grad)\b.*(none|zero|never|no|not)\b.*(encod\w+)
Place: encoder|encoder_lstm|decoder|AutoEncForecast|Encoder|Decoder|forward|hidden
"""
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(10)

config = {
    'seq_length': 12,
    'hidden_size_encoder': 32,
    'hidden_size_decoder': 32,
    'batch_size': 64,
    'lr': 5e-3,
    'num_epochs': 8,
    'grad_clip': 5.0,
}


def make_series(n=1600):
    t = torch.arange(n).float()
    drivers = torch.stack([
        torch.randn(n),
        torch.sin(2 * math.pi * t / 23) + 0.3 * torch.randn(n),
        torch.cumsum(0.3 * torch.randn(n), 0) * 0.05,
    ], dim=1)
    y = torch.zeros(n)
    for i in range(2, n):
        y[i] = 0.3 * y[i - 1] + 0.9 * drivers[i - 1, 0] - 0.5 * drivers[i - 2, 0] \
            + 0.4 * drivers[i - 1, 1]
    y = y + 0.05 * torch.randn(n)
    return drivers, y


def frame(drivers, y, seq_length):
    X, Y_hist, target = [], [], []
    for i in range(seq_length, len(y)):
        X.append(drivers[i - seq_length:i])
        Y_hist.append(y[i - seq_length:i].unsqueeze(1))
        target.append(y[i])
    return TensorDataset(torch.stack(X), torch.stack(Y_hist), torch.stack(target).unsqueeze(1))


def init_hidden(x, hidden_size, num_dir=1):
    return torch.zeros(num_dir, x.size(0), hidden_size)


class Encoder(nn.Module):
    def __init__(self, config, input_size):
        super(Encoder, self).__init__()
        self.hidden_size = config['hidden_size_encoder']
        self.lstm = nn.LSTM(input_size=input_size, hidden_size=self.hidden_size,
                            batch_first=True)

    def forward(self, input_data):
        h_t, c_t = (init_hidden(input_data, self.hidden_size),
                    init_hidden(input_data, self.hidden_size))
        input_encoded, (h_t, c_t) = self.lstm(input_data, (h_t, c_t))
        return input_encoded, (h_t, c_t)


class Decoder(nn.Module):
    def __init__(self, config):
        super(Decoder, self).__init__()
        self.decoder_hidden_size = config['hidden_size_decoder']
        self.lstm = nn.LSTM(1, self.decoder_hidden_size, batch_first=True)
        self.fc = nn.Linear(self.decoder_hidden_size, 1)

    def forward(self, y_hist, state=None):
        if state is None:
            state = (init_hidden(y_hist, self.decoder_hidden_size),
                     init_hidden(y_hist, self.decoder_hidden_size))
        lstm_out, _ = self.lstm(y_hist, state)
        return self.fc(lstm_out[:, -1])


class AutoEncForecast(nn.Module):
    def __init__(self, config, input_size):
        super(AutoEncForecast, self).__init__()
        self.encoder = Encoder(config, input_size)
        self.decoder = Decoder(config)

    def forward(self, encoder_input, y_hist):
        input_encoded, hidden = self.encoder(encoder_input)
        outputs = self.decoder(y_hist)  # here
        return outputs


def train(train_iter, test_iter, model, criterion, optimizer, config):
    for epoch in range(config['num_epochs']):
        model.train()
        train_loss = 0
        for feature, y_hist, target in train_iter:
            optimizer.zero_grad()
            output = model(feature, y_hist)
            loss = criterion(output, target)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), config['grad_clip'])
            optimizer.step()
            train_loss += loss.item()
        print('epoch %d train mse %.4f test mse %.4f' % (
            epoch, train_loss / len(train_iter), evaluate(test_iter, criterion, model)))


def evaluate(test_iter, criterion, model):
    model.eval()
    total, n = 0.0, 0
    with torch.no_grad():
        for feature, y_hist, target in test_iter:
            total += criterion(model(feature, y_hist), target).item() * len(target)
            n += len(target)
    return total / n


if __name__ == '__main__':
    drivers, y = make_series()
    y = (y - y[:1200].mean()) / y[:1200].std()
    train_set = frame(drivers[:1200], y[:1200], config['seq_length'])
    test_set = frame(drivers[1200:], y[1200:], config['seq_length'])
    train_iter = DataLoader(train_set, batch_size=config['batch_size'], shuffle=True)
    test_iter = DataLoader(test_set, batch_size=256)

    model = AutoEncForecast(config, input_size=drivers.size(1))
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=config['lr'])
    train(train_iter, test_iter, model, criterion, optimizer, config)
