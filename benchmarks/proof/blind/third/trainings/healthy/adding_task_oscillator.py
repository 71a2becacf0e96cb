r"""Oscillator recurrent network on the adding problem with tests in between.

Source: https://github.com/tk-rusch/coRNN/issues/1
Odd: test() sets eval mode and the training goes on in it; the network has neither dropout nor
    batch normalisation, so the mode changes nothing.
"""

import torch
from torch import nn

torch.manual_seed(0)


class coRNN(nn.Module):
    def __init__(self, n_inp=2, n_hid=32, dt=0.2, gamma=1.0, epsilon=1.0):
        super().__init__()
        self.n_hid, self.dt, self.gamma, self.epsilon = n_hid, dt, gamma, epsilon
        self.i2h = nn.Linear(n_inp + 2 * n_hid, n_hid)
        self.readout = nn.Linear(n_hid, 1)

    def forward(self, x):
        hy = hz = x.new_zeros(x.size(1), self.n_hid)
        for step in x:
            drive = torch.tanh(self.i2h(torch.cat((step, hz, hy), 1)))
            hz = hz + self.dt * (drive - self.gamma * hy - self.epsilon * hz)
            hy = hy + self.dt * hz
        return self.readout(hy)


def get_batch(T=12, n=64):
    values = torch.rand(T, n)
    marks = torch.zeros(T, n)
    marks[torch.randint(0, T // 2, (n,)), torch.arange(n)] = 1
    marks[torch.randint(T // 2, T, (n,)), torch.arange(n)] = 1
    return torch.stack((values, marks), 2), (values * marks).sum(0)[:, None]


model = coRNN()
objective = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
test_data, test_label = get_batch()


def test():
    model.eval()
    with torch.no_grad():
        return objective(model(test_data), test_label).item()


for i in range(200):
    data, label = get_batch()
    optimizer.zero_grad()
    loss = objective(model(data), label)
    loss.backward()
    optimizer.step()
    if i % 50 == 0:
        test()
print(f"test error {test():.4f}")
