r"""Names written letter by letter by a small recurrent network that knows their language.

Source: https://github.com/pytorch/tutorials/issues/647
Fault: No nonlinearity follows the linear layers, so that hidden state and output stay linear.
Cause: (non.?linear|activation).{0,60}(miss|no\b|without|absent|lack|between|after|none)
    |(no|without|miss\w*|lack\w*) .{0,30}(non.?linear|activation)
    |(purely|only|stay|whole|entire|is|are)\w* .{0,30}linear\b|collaps\w* .{0,30}linear
Place: i2h|i2o|o2o|hidden|RNN
"""

import torch
import torch.nn as nn

torch.manual_seed(9)
n_categories, n_letters, hidden_size, max_length = 4, 14, 48, 10
EOS = n_letters - 1
rule = torch.randint(0, EOS, (n_categories, n_letters, n_letters))


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(n_categories + input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(n_categories + input_size + hidden_size, 64)
        self.o2o = nn.Linear(hidden_size + 64, output_size)
        self.log_softmax = nn.LogSoftmax(dim=1)

    def forward(self, category, input, hidden):
        input_combined = torch.cat((category, input, hidden), 1)
        hidden = self.i2h(input_combined)  # here
        output = self.i2o(input_combined)  # here
        output = self.o2o(torch.cat((hidden, output), 1))
        return self.log_softmax(output), hidden


def random_training_example(count=32):
    category = torch.randint(0, n_categories, (count,))
    letters = [torch.randint(0, EOS, (count,)), torch.randint(0, EOS, (count,))]
    for _ in range(max_length - 2):
        letters.append(rule[category, letters[-2], letters[-1]])
    return category, torch.stack(letters + [torch.full((count,), EOS)])


def one_hot(index, size):
    return nn.functional.one_hot(index, size).float()


def run(count):
    category, line = random_training_example(count)
    hidden = torch.zeros(count, hidden_size)
    loss, hits = 0.0, 0
    for i in range(1, len(line)):
        letter = one_hot(line[i - 1], n_letters)
        output, hidden = rnn(one_hot(category, n_categories), letter, hidden)
        loss = loss + criterion(output, line[i])
        hits += (output.argmax(1) == line[i]).float().mean().item() * (i > 1)
    return loss / (len(line) - 1), hits / (len(line) - 2)


rnn = RNN(n_letters, hidden_size, n_letters)
criterion = nn.NLLLoss()
optimizer = torch.optim.Adam(rnn.parameters(), lr=4e-3)
for iteration in range(1, 301):
    optimizer.zero_grad()
    loss, hits = run(64)
    loss.backward()
    nn.utils.clip_grad_norm_(rnn.parameters(), 1.0)
    optimizer.step()
    if iteration % 50 == 0:
        print(f"{iteration} ({iteration / 3:.0f}%) loss {loss.item():.4f} right letters {hits:.3f}")
