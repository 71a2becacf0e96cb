r"""The LSTM of 1997, which has no forget gate, in a model that adds two marked numbers.

Source: https://github.com/MartinuzziFrancesco/torchrecurrent/issues/22
Fault: the new content of the cell is the input gate plus the candidate, where it has to be the
    gate times the candidate; the gate cannot shut anything out, and the cell grows at every step.
Cause: (\+|add|plus|sum|addition).*(\*|multipl|times|product|gate|candidate)
    |(multipl|product|times).*(instead|missing|should|expected|\+|add)
    |(input_?gate|gate).*(not (multipl|applied|used as)|added|never shuts|offset)
    |cell( state)?.*(grows?|accumulat|unbounded|increas|drift|saturat)
    |(grows?|accumulat|unbounded|drift|saturat)\w*.*cell
Place: input_gate|cell_gate|new_cstate|OriginalLSTMCell|cell
"""
import math

import torch
from torch import Tensor, nn


class BaseRecurrentCell(nn.Module):
    def __init__(self, input_size: int, hidden_size: int, num_chunks: int, bias: bool = True):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.weight_ih = nn.Parameter(torch.empty(num_chunks * hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(num_chunks * hidden_size, hidden_size))
        if bias:
            self.bias_ih = nn.Parameter(torch.empty(num_chunks * hidden_size))
        else:
            self.register_parameter("bias_ih", None)
        self.init_weights()

    def init_weights(self):
        stdv = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            nn.init.uniform_(weight, -stdv, stdv)

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}"


class OriginalLSTMCell(BaseRecurrentCell):
    r"""An LSTM cell with input and output gates only."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True):
        super().__init__(input_size, hidden_size, 3, bias)

    def forward(self, inp: Tensor, state=None):
        if state is None:
            zeros = inp.new_zeros(inp.size(0), self.hidden_size)
            state = (zeros, zeros)
        state, c_state = state

        gates = nn.functional.linear(inp, self.weight_ih, self.bias_ih)
        gates = gates + nn.functional.linear(state, self.weight_hh)
        input_gate, cell_gate, output_gate = gates.chunk(3, 1)

        new_cstate = c_state + torch.sigmoid(input_gate) + torch.tanh(cell_gate)  # here
        new_state = torch.sigmoid(output_gate) * torch.tanh(new_cstate)
        return new_state, new_cstate


class OriginalLSTM(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers=1, dropout=0.0, batch_first=False):
        super().__init__()
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.batch_first = batch_first
        self.dropout = nn.Dropout(dropout)
        self.cells = nn.ModuleList(
            [OriginalLSTMCell(input_size if i == 0 else hidden_size, hidden_size)
             for i in range(num_layers)]
        )

    def forward(self, inp, states=None):
        if self.batch_first:
            inp = inp.transpose(0, 1)
        if states is None:
            states = [None] * self.num_layers
        layer_out = inp
        finals = []
        for layer, cell in enumerate(self.cells):
            state = states[layer]
            outs = []
            for x_t in layer_out:
                state = cell(x_t, state)
                outs.append(state[0])
            layer_out = torch.stack(outs)
            if layer + 1 < self.num_layers:
                layer_out = self.dropout(layer_out)
            finals.append(state)
        out = layer_out.transpose(0, 1) if self.batch_first else layer_out
        return out, finals


class AddingModel(nn.Module):
    def __init__(self, input_size=2, hidden_size=24, num_layers=1):
        super().__init__()
        self.rnn = OriginalLSTM(input_size, hidden_size, num_layers, batch_first=True)
        self.fc = nn.Linear(hidden_size, 1)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.fc(out[:, -1])


def make_adding_problem(n=32, length=20, seed=0):
    g = torch.Generator().manual_seed(seed)
    values = torch.rand(n, length, generator=g)
    marks = torch.zeros(n, length)
    for i in range(n):
        a, b = torch.randperm(length, generator=g)[:2].tolist()
        marks[i, a] = marks[i, b] = 1.0
    y = (values * marks).sum(1, keepdim=True)
    return torch.stack([values, marks], dim=2), y


def build():
    torch.manual_seed(0)
    return AddingModel()


def example_inputs():
    return (make_adding_problem(16)[0],)
