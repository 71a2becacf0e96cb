import os

import numpy as np
import torch
import torch.nn as nn


class Sequence(nn.Module):
    def __init__(self):
        super(Sequence, self).__init__()
        self.lstm1 = nn.LSTMCell(1, 6)
        self.linear = nn.Linear(6, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t = torch.zeros(input.size(0), 6, dtype=torch.double)
        c_t = torch.zeros(input.size(0), 6, dtype=torch.double)
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            output = self.linear(h_t)
            outputs += [output]
        for i in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            output = self.linear(h_t)
            outputs += [output]
        return torch.cat(outputs, dim=1)


np.random.seed(0)
torch.manual_seed(0)
data = np.sin(np.arange(10)[None] / 3.0 + np.random.randint(-4, 4, (4, 1)))
input = torch.from_numpy(data[:, :-1])
target = torch.from_numpy(data[:, 1:])
seq = Sequence()
seq.double()
criterion = nn.MSELoss()
optimizer = torch.optim.LBFGS(seq.parameters(), lr=0.8, max_iter=5)
for i in range(3):
    print("STEP: ", i)

    def closure():
        optimizer.zero_grad()
        out = seq(input)
        loss = criterion(out, target)
        print("loss:", loss.item())
        loss.backward()
        # truth: closure("seq", optimizer, loss)
        return loss

    optimizer.step(closure)
    # truth: after_closures("seq")
    with torch.no_grad():
        pred = seq(input, future=5)
        print("test loss:", criterion(pred[:, :-5], target).item())
torch.save(seq.state_dict(), os.environ["WEIGHTS"])
