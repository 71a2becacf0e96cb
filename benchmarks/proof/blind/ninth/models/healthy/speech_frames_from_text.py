r"""Reader that turns letters into spectrogram frames, one frame after the other.

Source: https://github.com/NVIDIA/tacotron2/pull/147
Odd: The dropout of the layers before the decoder stays on in evaluation; the spoken variety
    comes from it.
"""

import itertools

import torch
import torch.nn.functional as F
from torch import nn


class Prenet(nn.Module):
    def __init__(self, inputs, sizes):
        super().__init__()
        sizes = (inputs, *sizes)
        self.layers = nn.ModuleList(
            nn.Linear(a, b, bias=False) for a, b in itertools.pairwise(sizes)
        )

    def forward(self, x):
        for linear in self.layers:
            x = F.dropout(F.relu(linear(x)), p=0.5, training=True)
        return x


class LocationAttention(nn.Module):
    def __init__(self, state, memory, size=24, filters=8):
        super().__init__()
        self.query, self.memory = nn.Linear(state, size, bias=False), nn.Linear(memory, size)
        self.conv = nn.Conv1d(2, filters, 11, padding=5, bias=False)
        self.place, self.v = nn.Linear(filters, size, bias=False), nn.Linear(size, 1, bias=False)

    def forward(self, state, memory, keys, weights, total, pad):
        place = self.conv(torch.stack([weights, total], 1)).transpose(1, 2)
        energy = self.v(torch.tanh(self.query(state).unsqueeze(1) + self.place(place) + keys))
        weights = energy.squeeze(2).masked_fill(pad, -float("inf")).softmax(1)
        return torch.bmm(weights.unsqueeze(1), memory).squeeze(1), weights


class Speech(nn.Module):
    def __init__(self, letters=40, mels=20, size=32):
        super().__init__()
        self.size = size
        self.embedding = nn.Embedding(letters, size)
        self.conv = nn.Conv1d(size, size, 5, padding=2)
        self.norm = nn.BatchNorm1d(size)
        self.lstm = nn.LSTM(size, size // 2, batch_first=True, bidirectional=True)
        self.prenet = Prenet(mels, (24, 24))
        self.attention_rnn = nn.LSTMCell(24 + size, size)
        self.attention = LocationAttention(size, size)
        self.decoder_rnn = nn.LSTMCell(2 * size, size)
        self.frame, self.gate = nn.Linear(2 * size, mels), nn.Linear(2 * size, 1)

    def forward(self, text, lengths, mels):
        x = self.embedding(text).transpose(1, 2)
        x = F.dropout(F.relu(self.norm(self.conv(x))), 0.5, self.training).transpose(1, 2)
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, True, enforce_sorted=False)
        memory, _ = nn.utils.rnn.pad_packed_sequence(
            self.lstm(packed)[0], True, total_length=text.size(1)
        )
        pad = torch.arange(text.size(1))[None] >= lengths[:, None]
        keys = self.attention.memory(memory)
        zero = memory.new_zeros(len(text), self.size)
        first, second, context = (zero, zero), (zero, zero), zero
        weights = total = memory.new_zeros(text.shape)
        start = mels.new_zeros(len(mels), 1, mels.size(2))
        frames, gates = [], []
        for before in self.prenet(torch.cat([start, mels[:, :-1]], 1)).unbind(1):
            first = self.attention_rnn(torch.cat([before, context], 1), first)
            context, weights = self.attention(first[0], memory, keys, weights, total, pad)
            total = total + weights
            second = self.decoder_rnn(torch.cat([first[0], context], 1), second)
            both = torch.cat([second[0], context], 1)
            frames.append(self.frame(both))
            gates.append(self.gate(both))
        return torch.stack(frames, 1), torch.cat(gates, 1)


def build():
    return Speech()


def example_inputs():
    return torch.randint(1, 40, (3, 12)), torch.tensor([12, 9, 7]), torch.randn(3, 10, 20)
