r"""Country of a family name, letter by letter, as in a tutorial.

Source: https://github.com/spro/practical-pytorch/issues/9
Fault: The network is made again after the optimizer, which still steps on the first network.
Cause: optimi[sz]er.{0,80}(other|old|first|different|another|stale|previous|not|no longer|before)
    |(not|never|un)\w* .{0,40}optimi[sz]er
    |(weights|parameters).{0,60}(never|not|n't).{0,20}(chang|updat|mov)
    |(re-?creat|made again|instantiat|twice|replaced|new (model|network|module))
Place: \brnn\b
"""

import torch
from torch import nn

torch.manual_seed(1)
n_letters, n_hidden, n_categories = 12, 32, 4
habits = torch.softmax(2 * torch.randn(n_categories, n_letters), 1)


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(input_size + hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, inputs, hidden):
        combined = torch.cat((inputs, hidden), 1)
        return self.softmax(self.i2o(combined)), torch.tanh(self.i2h(combined))


def random_names(count=32, letters=7):
    category = torch.randint(0, n_categories, (count,))
    names = torch.multinomial(habits[category], letters, replacement=True)
    return category, nn.functional.one_hot(names, n_letters).float()


rnn = RNN(n_letters, n_hidden, n_categories)
optimizer = torch.optim.Adam(rnn.parameters(), lr=5e-3)
criterion = nn.NLLLoss()


def train(category, line):
    hidden = torch.zeros(len(category), n_hidden)
    optimizer.zero_grad()
    for i in range(line.size(1)):
        output, hidden = rnn(line[:, i], hidden)
    loss = criterion(output, category)
    loss.backward()
    optimizer.step()
    return output, loss.item()


rnn = RNN(n_letters, n_hidden, n_categories)  # here
current_loss = right = 0
for step in range(1, 121):
    category, line = random_names()
    output, loss = train(category, line)
    current_loss += loss
    right += (output.argmax(1) == category).float().mean().item()
    if step % 30 == 0:
        print(f"{step} loss {current_loss / 30:.4f} accuracy {right / 30:.3f}")
        current_loss = right = 0
