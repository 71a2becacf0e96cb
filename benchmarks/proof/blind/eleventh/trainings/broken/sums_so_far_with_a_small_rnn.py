r"""An RNN regressor after a well-known tutorial that learns the running sum of short random series.

Source: https://github.com/MorvanZhou/PyTorch-Tutorial/issues/49
Fault: the hidden state of one series is carried over as the start of the next one although the
    series are drawn independently; the sum starts from a left-over value and is not learnt.
Cause: (hidden|h_state|state)\b.*(carr\w+|reus\w+|kept|keeps|passed|left.?over
    |previous (batch|series|one|sample|sequence|call)|last (batch|series|call)
    |not (reset|re-?initiali[sz]ed|cleared|zeroed)|never (reset|cleared|re-?initiali[sz]ed
    |zeroed)|across|between|survives|persist\w*|stateful|detach\w*|from (the|one))
    |(reset|re-?initiali[sz]e|clear|zero)\w*\b.*(hidden|h_state|state)
Place: h_state|rnn|RNN|forward
"""
import numpy as np
import torch
from torch import nn

torch.manual_seed(1)    # reproducible
np.random.seed(1)

# Hyper Parameters
TIME_STEP = 10      # rnn time step
INPUT_SIZE = 1      # rnn input size
LR = 0.005          # learning rate
STEPS = 900


class RNN(nn.Module):
    def __init__(self):
        super(RNN, self).__init__()

        self.rnn = nn.RNN(
            input_size=INPUT_SIZE,
            hidden_size=32,     # rnn hidden unit
            num_layers=1,       # number of rnn layer
            batch_first=True,
        )
        self.out = nn.Linear(32, 1)

    def forward(self, x, h_state):
        # x (batch, time_step, input_size)
        # h_state (n_layers, batch, hidden_size)
        # r_out (batch, time_step, hidden_size)
        r_out, h_state = self.rnn(x, h_state)

        outs = []    # save all predictions
        for time_step in range(r_out.size(1)):    # calculate output for each time step
            outs.append(self.out(r_out[:, time_step, :]))
        return torch.stack(outs, dim=1), h_state


def draw_series(batch=16):
    x_np = np.random.uniform(-1, 1, (batch, TIME_STEP, 1)).astype(np.float32)
    y_np = np.cumsum(x_np, axis=1)
    return torch.from_numpy(x_np), torch.from_numpy(y_np)


rnn = RNN()
print(rnn)

optimizer = torch.optim.Adam(rnn.parameters(), lr=LR)   # optimize all parameters
loss_func = nn.MSELoss()

h_state = None      # for initial hidden state
losses = []

for step in range(STEPS):
    x, y = draw_series()

    prediction, h_state = rnn(x, h_state)   # rnn output
    h_state = h_state.data  # here

    loss = loss_func(prediction, y)         # calculate loss
    optimizer.zero_grad()                   # clear gradients for this training step
    loss.backward()                         # backpropagation, compute gradients
    optimizer.step()                        # apply gradients

    losses.append(loss.item())
    if (step + 1) % 100 == 0:
        print('step', step + 1, 'mean loss of the last 100: %.4f' % np.mean(losses[-100:]))

# show a few
rnn.eval()
with torch.no_grad():
    x, y = draw_series(3)
    prediction, _ = rnn(x, None)
for k in range(3):
    print('real ', np.round(y[k, :, 0].numpy(), 2))
    print('guess', np.round(prediction[k, :, 0].numpy(), 2))
