r"""Classifies short clips by the direction in which a pattern moves (CNN features, then an LSTM).

Source: https://github.com/HHTseng/video-classification/issues/42
Fault: view swaps the sizes of batch and time but not the data, so each sequence of the LSTM mixes
    frames of different clips and the accuracy stays at chance.
Cause: view|reshape|transpos|permut|(mix|scrambl|interleav).*(batch|clip|sample|frame)
Place: x_RNN|RNN_out|DecoderRNN|LSTM
"""

import torch
import torch.nn.functional as F
from torch import nn


class EncoderCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 4, 3, padding=1)
        self.fc = nn.Linear(4 * 12, 16)

    def forward(self, x):
        b, t, w = x.shape
        h = F.relu(self.conv(x.reshape(b * t, 1, w)))
        return F.relu(self.fc(h.flatten(1))).view(b, t, -1)


class DecoderRNN(nn.Module):
    def __init__(self, input_size=16, h_rnn=24):
        super().__init__()
        self.LSTM = nn.LSTM(input_size, h_rnn)
        self.fc1 = nn.Linear(h_rnn, 2)

    def forward(self, x_RNN):
        b, t, f = x_RNN.shape
        RNN_out, _ = self.LSTM(x_RNN.view(t, b, f))  # here
        return self.fc1(RNN_out[-1])


def clips(n):
    start, direction = torch.randint(0, 6, (n, 1)), torch.randint(0, 2, (n,))
    pos = (start + (2 * direction[:, None] - 1) * torch.arange(6)) % 12
    return F.one_hot(pos, 12).float(), direction


torch.manual_seed(0)
cnn, rnn = EncoderCNN(), DecoderRNN()
optimizer = torch.optim.Adam([*cnn.parameters(), *rnn.parameters()], lr=1e-2)
for step in range(240):
    x, y = clips(48)
    output = rnn(cnn(x))
    loss = F.cross_entropy(output, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        acc = (output.argmax(1) == y).float().mean()
        print(f"Train step {step} loss {loss.item():.4f} accuracy {100 * acc:.1f}%")
