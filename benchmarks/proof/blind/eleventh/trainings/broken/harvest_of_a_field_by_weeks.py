r"""A yield predictor class: it scales weather and yield, trains an LSTM, saves and predicts tonnes.

Source: https://github.com/Eshajha19/agri/pull/2204
Fault: the target is scaled to 0..1 for the training, but predict() returns the output of the
    network without the inverse transform; the yields in tonnes are all between 0 and 1.
Cause: (inverse\w*|unscal\w*|de-?scal\w*|de-?normali[sz]\w*|rescal\w*|transform\w* back
    |convert\w* back|undo\w*|undone)\b
    |(predict\w*|output|returns?)\b.*(scaled|normali[sz]ed|0 ?(and|to|\.\.|-) ?1|unit\w*
    |wrong scale|raw)
    |(scal\w+|normali[sz]\w+)\b.*(target|yield|prediction|output)\b.*(not|never|without|missing)
    |(target|yield)\b.*(scal\w+|normali[sz]\w+)\b.*(predict|compar|evaluat|metric|error)
Place: predict|inverse_transform|y_scaler|target_scaler|YieldPredictor
"""
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class MinMaxScaler:
    def fit(self, x):
        self.data_min = x.min(axis=0)
        self.data_range = np.maximum(x.max(axis=0) - self.data_min, 1e-9)
        return self

    def transform(self, x):
        return (x - self.data_min) / self.data_range

    def fit_transform(self, x):
        return self.fit(x).transform(x)

    def inverse_transform(self, x):
        return x * self.data_range + self.data_min


def make_seasons(n=420, weeks=16, seed=0):
    """rain, temperature and sun of the weeks of a season, and the yield in tonnes per hectare"""
    rng = np.random.RandomState(seed)
    rain = rng.gamma(2.0, 12.0, (n, weeks))
    temp = 14 + 8 * np.sin(np.linspace(0, 3.1, weeks)) + rng.normal(0, 2, (n, weeks))
    sun = rng.uniform(20, 60, (n, weeks))
    grow = np.linspace(0.2, 1.0, weeks)
    y = (0.02 * (rain * grow).sum(1) / grow.sum() * 4 + 0.12 * (temp[:, 6:12].mean(1) - 10)
         + 0.04 * sun[:, 8:].mean(1))
    y = y + rng.normal(0, 0.1, n)
    return np.stack([rain, temp, sun], axis=2), y[:, None]


class LSTMModel(nn.Module):
    def __init__(self, input_size, hidden_size=48, num_layers=1):
        super().__init__()
        self.lstm = nn.LSTM(input_size, hidden_size, num_layers, batch_first=True)
        self.fc = nn.Sequential(nn.Linear(hidden_size, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1])


class YieldPredictor:
    def __init__(self, model_path, sequence_length=16, n_features=3):
        self.model_path = model_path
        self.sequence_length = sequence_length
        self.n_features = n_features
        self.x_scaler = MinMaxScaler()
        self.y_scaler = MinMaxScaler()
        self.model = LSTMModel(n_features)

    def preprocess(self, X, y):
        flat = X.reshape(-1, self.n_features)
        Xs = self.x_scaler.fit_transform(flat).reshape(X.shape)
        ys = self.y_scaler.fit_transform(y)
        return (torch.tensor(Xs, dtype=torch.float32), torch.tensor(ys, dtype=torch.float32))

    def train(self, X, y, epochs=15, batch_size=32, lr=3e-3):
        Xs, ys = self.preprocess(X, y)
        loader = DataLoader(TensorDataset(Xs, ys), batch_size=batch_size, shuffle=True)
        optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        criterion = nn.MSELoss()
        self.model.train()
        for epoch in range(epochs):
            total = 0.0
            for xb, yb in loader:
                optimizer.zero_grad()
                loss = criterion(self.model(xb), yb)
                loss.backward()
                optimizer.step()
                total += loss.item() * len(xb)
            if epoch % 3 == 2:
                print('epoch %d loss %.5f' % (epoch + 1, total / len(Xs)))
        self.save()

    def save(self):
        torch.save(self.model.state_dict(), self.model_path)

    def load(self):
        self.model.load_state_dict(torch.load(self.model_path))
        self.model.eval()

    def predict(self, X):
        self.load()
        flat = X.reshape(-1, self.n_features)
        Xs = self.x_scaler.transform(flat).reshape(X.shape)
        with torch.no_grad():
            pred = self.model(torch.tensor(Xs, dtype=torch.float32)).numpy()
        return pred  # here


def rmse(a, b):
    return float(np.sqrt(np.mean((a - b) ** 2)))


def main():
    torch.manual_seed(0)
    X, y = make_seasons()
    X_train, y_train, X_test, y_test = X[:340], y[:340], X[340:], y[340:]
    with tempfile.TemporaryDirectory() as folder:
        predictor = YieldPredictor(os.path.join(folder, 'lstm_yield.pt'))
        predictor.train(X_train, y_train)
        pred = predictor.predict(X_test)
    print('mean yield of the test seasons %.2f t/ha' % y_test.mean())
    print('rmse of always the mean %.3f' % rmse(y_test, y_train.mean()))
    print('rmse of the model       %.3f' % rmse(y_test, pred))
    for a, b in list(zip(y_test[:, 0], pred[:, 0]))[:5]:
        print('true %.2f predicted %.2f' % (a, b))


if __name__ == '__main__':
    main()
