r"""Homework: a character RNN names the language of a surname, now with a batch size argument.

Source: https://github.com/mikeizbicki/cmc-csci181-deeplearning/issues/3
Fault: the accuracy is still computed from the first surname of the batch only (guess_i = top_i[0]
    and category_tensor[0]), so with a bigger batch it says nothing about the others and looks as
    if nothing were learned while the loss falls.
Cause: accuracy.{0,140}(first|single|only|just one|one (surname|row|sample|example|element|item))
    |(first|one|single|only).{0,80}(sample|example|row|element|item|surname|guess
    |prediction).{0,80}(batch|accuracy|count|metric|compared)
    |top_i\[0\]
    |category_tensor\[0\]
    |(rest|others?|remaining).{0,60}(batch|samples|rows).{0,60}(never|not|ignored|dropped)
Place: accuracy|guess_i|category_i|top_i|category_tensor
"""
import argparse
import random
import string
import time

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument('--learning_rate', type=float, default=3e-3)
parser.add_argument('--optimizer', choices=['sgd', 'adam'], default='adam')
parser.add_argument('--gradient_clipping', action='store_true')
parser.add_argument('--batch_size', type=int, default=32)
parser.add_argument('--hidden_layer_size', type=int, default=48)
parser.add_argument('--num_layers', type=int, default=1)
parser.add_argument('--model', choices=['rnn', 'gru', 'lstm'], default='gru')
parser.add_argument('--samples', type=int, default=320)
parser.add_argument('--print_every', type=int, default=20)
parser.add_argument('--test_size', type=int, default=400)
parser.add_argument('--seed', type=int, default=0)
args = parser.parse_args()

random.seed(args.seed)
torch.manual_seed(args.seed)

vocabulary = string.ascii_lowercase + '$^'
print('vocabulary:', vocabulary)

# made-up languages: each has its own favourite syllables and endings
SYLLABLES = {
    'Italian': (['ca', 'ro', 'ma', 'li', 'be', 'to'], ['ini', 'etti', 'ello']),
    'Polish': (['ko', 'wal', 'szy', 'mon', 'ja', 'wi'], ['ski', 'czyk', 'ak']),
    'Japanese': (['ta', 'ka', 'ha', 'shi', 'mu', 'ya'], ['moto', 'mura', 'ki']),
    'Scottish': (['mac', 'don', 'cam', 'fer', 'gus', 'ken'], ['ald', 'bell', 'son']),
    'Greek': (['pa', 'po', 'the', 'ni', 'geo', 'ma'], ['akis', 'poulos', 'idis']),
    'Irish': (['bren', 'con', 'fin', 'ka', 'don', 'mur'], ['nan', 'phy', 'gan']),
}
all_categories = sorted(SYLLABLES)
print('categories:', all_categories)


def make_name(category):
    parts, endings = SYLLABLES[category]
    name = ''.join(random.choice(parts) for _ in range(random.randint(1, 2)))
    name += random.choice(endings) if random.random() < 0.85 else random.choice(parts)
    if random.random() < 0.25:
        k = random.randrange(len(name))
        name = name[:k] + random.choice(string.ascii_lowercase) + name[k + 1:]
    return name


category_lines = {c: [make_name(c) for _ in range(200)] for c in all_categories}
test_lines = [(c, make_name(c)) for c in random.choices(all_categories, k=args.test_size)]


def str_to_tensor(ss, input_length=14):
    tensor = torch.zeros(input_length, len(ss), len(vocabulary))
    for j, s in enumerate(ss):
        s = '^' + s[:input_length - 2] + '$'
        s = s + '$' * (input_length - len(s))
        for i, letter in enumerate(s):
            tensor[i][j][vocabulary.find(letter)] = 1
    return tensor


class RNNModel(nn.Module):
    def __init__(self):
        super(RNNModel, self).__init__()
        mk = {'rnn': nn.RNN, 'gru': nn.GRU, 'lstm': nn.LSTM}[args.model]
        self.rnn = mk(len(vocabulary), args.hidden_layer_size, num_layers=args.num_layers)
        self.fc = nn.Linear(args.hidden_layer_size, len(all_categories))

    def forward(self, x):
        out, h_n = self.rnn(x)
        return self.fc(out[out.shape[0] - 1, :, :])


model = RNNModel()
criterion = nn.CrossEntropyLoss()
if args.optimizer == 'sgd':
    optimizer = torch.optim.SGD(model.parameters(), lr=args.learning_rate, momentum=0.9)
else:
    optimizer = torch.optim.Adam(model.parameters(), lr=args.learning_rate)

print('training')
model.train()
start_time = time.time()
accuracies_window = []
losses_window = []
for step in range(1, args.samples + 1):
    categories = []
    lines = []
    for i in range(args.batch_size):
        category = random.choice(all_categories)
        categories.append(all_categories.index(category))
        lines.append(random.choice(category_lines[category]))
    category_tensor = torch.tensor(categories, dtype=torch.long)
    line_tensor = str_to_tensor(lines)

    output = model(line_tensor)
    loss = criterion(output, category_tensor)
    optimizer.zero_grad()
    loss.backward()
    if args.gradient_clipping:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
    optimizer.step()

    # get category from output
    top_n, top_i = output.topk(1)
    guess_i = top_i[0].item()  # here
    category_i = category_tensor[0].item()  # here
    guess = all_categories[guess_i]
    category = all_categories[category_i]
    accuracy = 1 if guess == category else 0

    losses_window.append(loss.item())
    accuracies_window.append(accuracy)
    if step % args.print_every == 0:
        correct = '+' if guess == category else '- (%s)' % category
        print('%d %d%% (%.1fs) loss=%.4f accuracy=%.2f | %s / %s %s' % (
            step,
            step / args.samples * 100,
            time.time() - start_time,
            sum(losses_window) / len(losses_window),
            accuracy,
            lines[0],
            guess,
            correct))
        losses_window = []

with torch.no_grad():
    model.eval()
    hit = 0
    for k in range(0, len(test_lines), 50):
        chunk = test_lines[k:k + 50]
        out = model(str_to_tensor([name for _, name in chunk]))
        want = torch.tensor([all_categories.index(c) for c, _ in chunk])
        hit += (out.argmax(1) == want).sum().item()
    print('test: {} of {} right'.format(hit, len(test_lines)))
