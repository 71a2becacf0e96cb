"""In the style of pytorch/examples/time_sequence_prediction: LBFGS over an LSTM, in float64."""

import json

import numpy as np
import torch
from torch import nn, optim


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1 = nn.LSTMCell(1, 8)
        self.lstm2 = nn.LSTMCell(8, 8)
        self.linear = nn.Linear(8, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t = torch.zeros(input.size(0), 8, dtype=torch.double)
        c_t, h_t2, c_t2 = h_t, h_t, h_t
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for _ in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


if __name__ == "__main__":
    np.random.seed(0)
    torch.manual_seed(0)
    x = np.arange(30) + np.random.randint(-80, 80, 12).reshape(12, 1)
    data = np.sin(x / 4.0).astype("float64")
    input, target = torch.from_numpy(data[3:, :-1]), torch.from_numpy(data[3:, 1:])
    test_input, test_target = torch.from_numpy(data[:3, :-1]), torch.from_numpy(data[:3, 1:])
    seq = Sequence()
    seq.double()
    criterion = nn.MSELoss()
    optimizer = optim.LBFGS(seq.parameters(), lr=0.8, max_iter=10)
    firsts = []
    for i in range(6):
        print("STEP: ", i)
        calls = []

        def closure():
            optimizer.zero_grad()
            out = seq(input)
            loss = criterion(out, target)
            calls.append(loss.item())
            loss.backward()
            return loss

        optimizer.step(closure)
        firsts.append(calls[0])
        with torch.no_grad():
            pred = seq(test_input, future=10)
            print("test loss:", criterion(pred[:, :-10], test_target).item())
    print("TRUTH", json.dumps({"seq": ["LBFGS", 6, firsts[0], firsts[-1]]}))
