r"""Character RNN that makes up names of three tongues, one name per step, with a hand-made cell.

Source: https://github.com/spro/practical-pytorch/pull/29
Healthy: the loss tensors of all letters are added up with their graphs, which looks like a leak of
    memory; the sum is needed for the backward pass through the whole name and is freed after it.
"""
import math
import random
import time

import torch
import torch.nn as nn

random.seed(4)
torch.manual_seed(4)

syllables = {
    "northern": ["bjo", "rn", "sve", "gun", "nar", "sig", "rid", "tor"],
    "southern": ["ma", "ri", "co", "lu", "ca", "bel", "la", "no"],
    "eastern": ["ka", "zu", "ki", "mi", "yo", "shi", "ha", "ru"],
}
category_lines = {c: ["".join(random.choice(s) for _ in range(random.randint(2, 3)))
                      for _ in range(150)] for c, s in syllables.items()}
all_categories = list(category_lines)
all_letters = sorted(set("".join("".join(v) for v in category_lines.values())))
n_letters = len(all_letters) + 1  # Plus EOS marker
n_categories = len(all_categories)


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(RNN, self).__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(n_categories + input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(n_categories + input_size + hidden_size, output_size)
        self.o2o = nn.Linear(hidden_size + output_size, output_size)
        self.dropout = nn.Dropout(0.05)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, category, input, hidden):
        input_combined = torch.cat((category, input, hidden), 1)
        hidden = torch.tanh(self.i2h(input_combined))
        output = self.i2o(input_combined)
        output_combined = torch.cat((hidden, output), 1)
        output = self.o2o(output_combined)
        output = self.dropout(output)
        return self.softmax(output), hidden

    def init_hidden(self):
        return torch.zeros(1, self.hidden_size)


def random_training_pair():
    category = random.choice(all_categories)
    return category, random.choice(category_lines[category])


def make_category_input(category):
    tensor = torch.zeros(1, n_categories)
    tensor[0][all_categories.index(category)] = 1
    return tensor


def make_chars_input(chars):
    tensor = torch.zeros(len(chars), 1, n_letters)
    for ci, char in enumerate(chars):
        tensor[ci][0][all_letters.index(char)] = 1
    return tensor


def make_target(line):
    letter_indexes = [all_letters.index(line[li]) for li in range(1, len(line))]
    letter_indexes.append(n_letters - 1)  # EOS
    return torch.tensor(letter_indexes)


def train(category_tensor, input_line_tensor, target_line_tensor):
    hidden = rnn.init_hidden()
    optimizer.zero_grad()
    loss = 0

    for i in range(input_line_tensor.size(0)):
        output, hidden = rnn(category_tensor, input_line_tensor[i], hidden)
        loss += criterion(output, target_line_tensor[i].unsqueeze(0))

    loss.backward()
    optimizer.step()

    return output, loss.item() / input_line_tensor.size(0)


def time_since(t):
    s = time.time() - t
    m = math.floor(s / 60)
    return "%dm %ds" % (m, s - m * 60)


def generate_one(category, start_char, temperature=0.5, max_length=12):
    with torch.no_grad():
        category_input = make_category_input(category)
        chars_input = make_chars_input(start_char)
        hidden = rnn.init_hidden()
        output_str = start_char
        for i in range(max_length):
            output, hidden = rnn(category_input, chars_input[0], hidden)
            output_dist = output.view(-1).div(temperature).exp()
            top_i = torch.multinomial(output_dist, 1)[0]
            if top_i == n_letters - 1:
                break
            char = all_letters[top_i]
            output_str += char
            chars_input = make_chars_input(char)
    return output_str


n_epochs = 1800
print_every = 300
current_loss = 0

rnn = RNN(n_letters, 64, n_letters)
optimizer = torch.optim.Adam(rnn.parameters(), lr=0.002)
criterion = nn.NLLLoss()

start = time.time()
for epoch in range(1, n_epochs + 1):
    category, line = random_training_pair()
    output, loss = train(make_category_input(category), make_chars_input(line), make_target(line))
    current_loss += loss

    if epoch % print_every == 0:
        print("%s (%d %d%%) %.4f" % (time_since(start), epoch, epoch / n_epochs * 100,
                                     current_loss / print_every))
        current_loss = 0

rnn.eval()
for category in all_categories:
    print(category, [generate_one(category, syllables[category][k][0]) for k in range(5)])
