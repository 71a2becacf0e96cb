r"""Tagger with a recurrent network and a careful start of its weights.

Source: https://github.com/allenai/allennlp/blob/main/allennlp/nn/initializers.py
Odd: One quarter of each hidden bias is one and all others are zero, so that gates start open.
"""

import torch
from torch import nn


def lstm_hidden_bias(tensor):
    """Set the biases of the forget gate to one."""
    tensor.data.zero_()
    hidden = tensor.shape[0] // 4
    tensor.data[hidden : 2 * hidden] = 1.0


class Tagger(nn.Module):
    def __init__(self, vocab=80, dim=24, hidden=32, tags=9):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.tag = nn.Linear(2 * hidden, tags)
        for name, parameter in self.lstm.named_parameters():
            if "weight_hh" in name:
                for gate in parameter.data.chunk(4):
                    nn.init.orthogonal_(gate)
            elif "weight_ih" in name:
                nn.init.xavier_uniform_(parameter)
            elif "bias_hh" in name:
                lstm_hidden_bias(parameter)
            else:
                nn.init.zeros_(parameter)

    def forward(self, words):
        h, _ = self.lstm(self.embed(words))
        return self.tag(h)


def build():
    return Tagger()


def example_inputs():
    return torch.randint(0, 80, (5, 13))
