r"""The LSTM of a notebook on the numbers of air passengers, one step ahead.

Source: https://github.com/spdin/time-series-prediction-lstm-pytorch/issues/1
Healthy: forward makes zeros for the first hidden and cell state at every call; the windows are
    independent of each other, and the state runs on inside of a window. The view of h_out is right
    because there is one layer and one direction.
"""
import numpy as np
import torch
import torch.nn as nn

seq_length = 4
input_size = 1
hidden_size = 8
num_layers = 1
num_classes = 1


def air_passengers(months=144):
    t = np.arange(months)
    trend = 110 + 2.6 * t
    season = 1 + 0.18 * np.sin(2 * np.pi * t / 12) + 0.05 * np.sin(4 * np.pi * t / 12)
    noise = np.random.RandomState(0).randn(months) * 6
    return (trend * season + noise).reshape(-1, 1)


class MinMaxScaler:
    def fit_transform(self, data):
        self.low, self.high = data.min(axis=0), data.max(axis=0)
        return (data - self.low) / (self.high - self.low)

    def inverse_transform(self, data):
        return data * (self.high - self.low) + self.low


def sliding_windows(data, seq_length):
    x = []
    y = []

    for i in range(len(data) - seq_length - 1):
        _x = data[i:(i + seq_length)]
        _y = data[i + seq_length]
        x.append(_x)
        y.append(_y)

    return np.array(x), np.array(y)


class LSTM(nn.Module):

    def __init__(self, num_classes, input_size, hidden_size, num_layers):
        super(LSTM, self).__init__()

        self.num_classes = num_classes
        self.num_layers = num_layers
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.seq_length = seq_length

        self.lstm = nn.LSTM(input_size=input_size, hidden_size=hidden_size,
                            num_layers=num_layers, batch_first=True)
        self.fc = nn.Linear(hidden_size, num_classes)

    def forward(self, x):
        h_0 = torch.zeros(self.num_layers, x.size(0), self.hidden_size)
        c_0 = torch.zeros(self.num_layers, x.size(0), self.hidden_size)

        # Propagate input through LSTM
        ula, (h_out, _) = self.lstm(x, (h_0, c_0))

        h_out = h_out.view(-1, self.hidden_size)
        out = self.fc(h_out)
        return out


sc = MinMaxScaler()


def load_windows():
    training_data = sc.fit_transform(air_passengers())
    x, y = sliding_windows(training_data, seq_length)
    return torch.Tensor(x), torch.Tensor(y)


def load_split():
    x, y = load_windows()
    train_size = int(len(y) * 0.67)
    return (x[:train_size], y[:train_size]), (x[train_size:], y[train_size:])


def build():
    torch.manual_seed(0)
    return LSTM(num_classes, input_size, hidden_size, num_layers)


def example_inputs():
    return (load_split()[0][0],)
