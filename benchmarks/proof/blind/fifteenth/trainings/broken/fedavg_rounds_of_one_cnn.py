r"""Federated averaging over a few clients with a small net of the user's own.

Source: https://github.com/vaseline555/Federated-Learning-in-PyTorch/issues/14
Fault: the server averages only the named parameters of the clients; the running mean and variance
    of the batch norms are never sent back, so the global model is evaluated with the statistics
    it was built with.
Cause: running.{0,15}(mean|var|stat|estimate|average)
    |(batch ?norm|\bbn\b|norm).{0,100}(statistic|buffers?|averages)
    |buffers?.{0,100}(not|never|n't|missing|left out|without|only|initial|start)
    |(only|just) .{0,40}parameters.{0,60}(averag|aggregat|sent|copied|combin)
    |named_parameters.{0,100}(buffer|statistic|batch ?norm)
Place: aggregate|_aggregate|running_mean|running_var|bn1|bn2|bn|server|named_parameters|OneCNN
"""
import argparse
import copy
import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Subset, TensorDataset


class OneCNN(torch.nn.Module):
    def __init__(self, in_channels, hidden_size, num_classes):
        super(OneCNN, self).__init__()
        self.conv1 = nn.Conv2d(in_channels, hidden_size, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(hidden_size)
        self.conv2 = nn.Conv2d(hidden_size, hidden_size * 2, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(hidden_size * 2)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(hidden_size * 2 * 3 * 3, num_classes)

    def forward(self, x):
        x = self.pool(torch.relu(self.bn1(self.conv1(x))))
        x = self.pool(torch.relu(self.bn2(self.conv2(x))))
        return self.fc(x.flatten(1))


class Client:
    def __init__(self, id, args, training_set, test_set):
        self.id = id
        self.args = args
        self.training_set = training_set
        self.test_set = test_set
        self.model = None

    def __len__(self):
        return len(self.training_set)

    def download(self, model):
        self.model = copy.deepcopy(model)

    def update(self):
        self.model.train()
        loader = DataLoader(self.training_set, batch_size=self.args.B, shuffle=True)
        optimizer = torch.optim.SGD(self.model.parameters(), lr=self.args.lr, momentum=0.9)
        criterion = nn.CrossEntropyLoss()
        total = 0.0
        for e in range(self.args.E):
            for inputs, targets in loader:
                outputs = self.model(inputs)
                loss = criterion(outputs, targets)
                for param in self.model.parameters():
                    param.grad = None
                loss.backward()
                optimizer.step()
                total += loss.item()
        return total / (self.args.E * len(loader))

    def upload(self):
        return self.model.named_parameters()

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        return accuracy(self.model, self.test_set)


@torch.no_grad()
def accuracy(model, dataset):
    correct = 0
    for x, y in DataLoader(dataset, batch_size=128):
        correct += (model(x).argmax(1) == y).sum().item()
    return correct / len(dataset)


class FedavgServer:
    def __init__(self, args, server_dataset, clients, model):
        self.args = args
        self.server_dataset = server_dataset
        self.clients = clients
        self.global_model = model
        self.round = 0

    def _sample_clients(self):
        num = max(int(self.args.C * len(self.clients)), 1)
        return sorted(random.sample(range(len(self.clients)), num))

    def _aggregate(self, ids):
        total = sum(len(self.clients[i]) for i in ids)
        server_params = dict(self.global_model.named_parameters())
        accum = {name: torch.zeros_like(p) for name, p in server_params.items()}
        for i in ids:
            coef = len(self.clients[i]) / total
            for name, param in self.clients[i].upload():  # here
                accum[name] += coef * param.data
        with torch.no_grad():
            for name, param in server_params.items():
                param.copy_(accum[name])

    def update(self):
        ids = self._sample_clients()
        losses = []
        for i in ids:
            self.clients[i].download(self.global_model)
            losses.append(self.clients[i].update())
        local = [self.clients[i].evaluate() for i in ids]
        self._aggregate(ids)
        self.round += 1
        return sum(losses) / len(losses), sum(local) / len(local)

    def evaluate(self):
        self.global_model.eval()
        return accuracy(self.global_model, self.server_dataset)


def simulate_data(args):
    g = torch.Generator().manual_seed(args.seed)
    protos = torch.rand(10, 1, 12, 12, generator=g)
    protos = nn.functional.avg_pool2d(protos, 3, 1, 1)

    def make(n):
        y = torch.randint(0, 10, (n,), generator=g)
        x = 4.0 * protos[y] + 3.0 + 0.5 * torch.randn(n, 1, 12, 12, generator=g)
        return TensorDataset(x, y)

    return make(1600), make(400)


def split(args, dataset):
    if args.split_type == 'iid':
        perm = torch.randperm(len(dataset)).tolist()
        return [perm[k::args.K] for k in range(args.K)]
    labels = dataset.tensors[1]
    out = []
    for k in range(args.K):
        keep = ((labels + k) % 10 < 6).nonzero().flatten().tolist()
        out.append(keep[k::args.K])
    return out


def main(args):
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    train_set, test_set = simulate_data(args)
    clients = [Client(k, args, Subset(train_set, idx), test_set)
               for k, idx in enumerate(split(args, train_set))]
    model = OneCNN(1, args.hidden_size, 10)
    server = FedavgServer(args, test_set, clients, model)
    for r in range(args.R):
        loss, local_acc = server.update()
        print(f"[ROUND {r + 1:2}/{args.R}] local loss {loss:.4f} | local acc {local_acc:.4f} "
              f"| global acc {server.evaluate():.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--split_type', type=str, default='iid')
    parser.add_argument('--hidden_size', type=int, default=8)
    parser.add_argument('--K', type=int, default=6)
    parser.add_argument('--C', type=float, default=0.67)
    parser.add_argument('--R', type=int, default=8)
    parser.add_argument('--E', type=int, default=2)
    parser.add_argument('--B', type=int, default=32)
    parser.add_argument('--lr', type=float, default=0.02)
    main(parser.parse_args())
