r"""The gated recurrent unit of a book, with its linear layers spelled out, for a counting task.

Source: https://github.com/PacktPublishing/Advanced-Deep-Learning-with-Python/issues/1
Healthy: The reset gate is multiplied with the state before the matrix and not after it as in the
    library's GRU, which somebody takes for a mistake; it is the formula of the original paper.
"""

import math

import torch


class GRUCell(torch.nn.Module):
    def __init__(self, input_size: int, hidden_size: int):
        """
        :param input_size: input vector size
        :param hidden_size: cell state vector size
        """
        super(GRUCell, self).__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size

        # x to reset gate r
        self.x_r_fc = torch.nn.Linear(input_size, hidden_size)
        # x to update gate z
        self.x_z_fc = torch.nn.Linear(input_size, hidden_size)
        # x to candidate state h'(t)
        self.x_h_fc = torch.nn.Linear(input_size, hidden_size)
        # network output/state h to reset gate r
        self.h_r_fc = torch.nn.Linear(hidden_size, hidden_size)
        # network output/state h to update gate z
        self.h_z_fc = torch.nn.Linear(hidden_size, hidden_size)
        # network state h passed through the reset gate r toward candidate state h(t)
        self.hr_h_fc = torch.nn.Linear(hidden_size, hidden_size)
        self.reset_parameters()

    def reset_parameters(self):
        """Xavier initialization """
        size = math.sqrt(3.0 / self.hidden_size)
        for weight in self.parameters():
            weight.data.uniform_(-size, size)

    def forward(self, x_t: torch.Tensor, h_t_1: torch.Tensor = None) -> torch.Tensor:
        # compute update gate vector
        z_t = torch.sigmoid(self.x_z_fc(x_t) + self.h_z_fc(h_t_1))
        # compute reset gate vector
        r_t = torch.sigmoid(self.x_r_fc(x_t) + self.h_r_fc(h_t_1))
        # compute candidate state
        candidate_h_t = torch.tanh(self.x_h_fc(x_t) + self.hr_h_fc(torch.mul(r_t, h_t_1)))
        # compute cell output
        h_t = torch.mul(z_t, h_t_1) + torch.mul(1 - z_t, candidate_h_t)
        return h_t


class GRUModel(torch.nn.Module):
    """GRU model with a single output layer connected to the GRU cell output"""

    def __init__(self, input_dim, hidden_size, output_dim):
        super(GRUModel, self).__init__()
        self.hidden_size = hidden_size
        self.gru = GRUCell(input_dim, hidden_size)
        self.fc = torch.nn.Linear(hidden_size, output_dim)

    def forward(self, x):
        # x is of size (batch, sequence, input)
        h_t = torch.zeros((x.size(0), self.hidden_size)).to(x.device)
        for seq in range(x.size(1)):
            h_t = self.gru(x[:, seq, :], h_t)
        # only the last output of the sequence
        return self.fc(h_t)


def build():
    torch.manual_seed(0)
    return GRUModel(input_dim=1, hidden_size=16, output_dim=1)


def example_inputs():
    torch.manual_seed(1)
    return (torch.randint(0, 2, (32, 15, 1)).float(),)
