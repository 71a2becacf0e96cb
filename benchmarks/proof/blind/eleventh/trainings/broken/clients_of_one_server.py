r"""A federated round: clients train a copy of the net with an exponential cost, the server
averages.

Source: https://whosebug.com/question/6301115/Weird-behaviour-of-loss-function-in-pytorch
Fault: the loss is the exponential of the cross entropy; after a client meets samples on which the
    net is confidently wrong the exponential overflows to inf and the weights become NaN.
Cause: \b(exp|exponential\w*|torch\.exp|exponentiat\w+)\b.*(overflow|inf|unbounded|explod|huge
    |large|unstable|too (big|large)|loss|cost|cross.?entropy|local_update|non-?finite|nan)
    |(loss|cost|objective|cross.?entropy|non-?finite|inf|nan|overflow\w*)\b.*\b(exp\b|torch\.exp
    |exponential|exponentiat)
Place: exp|local_update|loss|eta|criterion
"""
import copy

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
np.random.seed(5)

NUM_CLIENTS = 4
ROUNDS = 5
EPOCHS = 3
BATCH = 32
LR = 0.1
ETA = 0.5


def make_client(seed, classes, n=320):
    rng = np.random.RandomState(seed)
    y = rng.choice(classes, n)
    centers = np.random.RandomState(123).normal(0, 3, (6, 20))
    x = centers[y] + rng.normal(0, 1.0, (n, 20))
    # a few entries of every client were typed in by hand
    flip = rng.rand(n) < 0.08
    y[flip] = rng.randint(0, 6, flip.sum())
    return TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y))


class Net(nn.Module):
    def __init__(self, d=20, h=64, k=6):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(d, h)
        self.fc2 = nn.Linear(h, h)
        self.fc3 = nn.Linear(h, k)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.fc3(x)


def local_update(global_model, train_loader, eta):
    client_model = copy.deepcopy(global_model)
    optimizer = torch.optim.SGD(client_model.parameters(), lr=LR, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    e_loss = []
    for e in range(EPOCHS):
        train_loss = 0
        n = 0
        for batch_idx, (data, target) in enumerate(train_loader):
            client_model.train()
            optimizer.zero_grad()
            output = client_model(data)
            loss = torch.exp(criterion(output, target) / eta)  # here
            loss.backward()
            optimizer.step()
            train_loss += loss.item() * data.size(0)
            n += data.size(0)
        e_loss.append(train_loss / n)
    return client_model.state_dict(), e_loss


def average(states):
    avg = copy.deepcopy(states[0])
    for k in avg:
        for s in states[1:]:
            avg[k] = avg[k] + s[k]
        avg[k] = avg[k] / len(states)
    return avg


def test(model, loader):
    model.eval()
    good, total = 0, 0
    with torch.no_grad():
        for x, y in loader:
            good += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    return good / total


clients = [DataLoader(make_client(i, [i, (i + 1) % 6, (i + 2) % 6]), batch_size=BATCH,
                      shuffle=True) for i in range(NUM_CLIENTS)]
test_loader = DataLoader(make_client(77, list(range(6))), batch_size=128)

global_model = Net()
for r in range(ROUNDS):
    states, losses = [], []
    for c in clients:
        s, e_loss = local_update(global_model, c, ETA)
        states.append(s)
        losses.append(e_loss[-1])
    global_model.load_state_dict(average(states))
    print('round', r, 'client losses', ['%.3g' % v for v in losses],
          'test acc %.3f' % test(global_model, test_loader))
