r"""Personalised federated learning with a mean of the client weights kept on the server.

Source: https://github.com/zerocpp/fedhkd/issues/2
Fault: the mean of the client weights is computed in each round but never loaded into the global
    model (nor given back to the clients), so the global test accuracy stays at chance.
Cause: (global|server|averag|aggregat).{0,120}(not|never|n.t|without|un)\s?.{0,20}(load|used|updat
    |chang|train|copied|given|applied|assigned|reach|touch|written|move|learn|receive)
    |global_weights.{0,80}(unused|never|not|nowhere)
    |(global|server).{0,20}(model|net).{0,80}(stays|remains|still|same|initial|untrained|random
    |nothing)
    |load_state_dict.{0,80}(missing|never|not|absent|forgot)
    |no (param|weight|gradient|step|optimi[sz]er|update).{0,80}(global|server)
    |(param|weight)s? of .{0,40}global.{0,80}(not|never|n.t|no )
Place: global_model|global_weights|average_weights|load_state_dict|LocalModels
"""
import argparse
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def args_parser():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=10, help="rounds of training")
    parser.add_argument('--num_users', type=int, default=5, help="number of users: K")
    parser.add_argument('--frac', type=float, default=1.0, help='the fraction of clients: C')
    parser.add_argument('--local_ep', type=int, default=1, help="the number of local epochs: E")
    parser.add_argument('--local_bs', type=int, default=32, help="local batch size: B")
    parser.add_argument('--lr', type=float, default=1e-3)
    parser.add_argument('--num_classes', type=int, default=10)
    parser.add_argument('--alg', type=str, default='FedAvg')
    return parser.parse_args()


class ResNetish(nn.Module):
    def __init__(self, args, dim=24):
        super().__init__()
        self.stem = nn.Linear(40, dim)
        self.b1 = nn.Linear(dim, dim)
        self.b2 = nn.Linear(dim, dim)
        self.classifier = nn.Linear(dim, args.num_classes)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = x + F.relu(self.b1(x))
        z = x + F.relu(self.b2(x))
        return self.classifier(z), z


class LocalUpdate:
    def __init__(self, args, dataset, idxs, model):
        self.args = args
        self.model = model
        self.trainloader = DataLoader(TensorDataset(*[t[idxs] for t in dataset.tensors]),
                                      batch_size=args.local_bs, shuffle=True)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)

    def load_model(self, global_weights):
        self.model.load_state_dict(global_weights)

    def update_weights(self, global_round):
        self.model.train()
        epoch_loss = []
        for it in range(self.args.local_ep):
            batch_loss = []
            for X, y in self.trainloader:
                self.optimizer.zero_grad()
                p, z = self.model(X)
                loss = F.cross_entropy(p, y)
                loss.backward()
                self.optimizer.step()
                batch_loss.append(loss.item())
            epoch_loss.append(sum(batch_loss) / len(batch_loss))
        return copy.deepcopy(self.model.state_dict()), sum(epoch_loss) / len(epoch_loss)

    def local_test_accuracy(self, testset):
        self.model.eval()
        with torch.no_grad():
            X, y = testset.tensors
            return (self.model(X)[0].argmax(1) == y).float().mean().item() * 100


def average_weights(w):
    w_avg = copy.deepcopy(w[0])
    for key in w_avg.keys():
        for i in range(1, len(w)):
            w_avg[key] += w[i][key]
        w_avg[key] = torch.div(w_avg[key], len(w))
    return w_avg


class Server:
    def __init__(self, args, global_model, trainset, testset, user_groups):
        self.args = args
        self.global_model = global_model
        self.testset = testset
        self.LocalModels = [LocalUpdate(args, trainset, user_groups[i],
                                        copy.deepcopy(global_model))
                            for i in range(args.num_users)]

    def global_test_accuracy(self):
        self.global_model.eval()
        with torch.no_grad():
            X, y = self.testset.tensors
            out, _ = self.global_model(X)
            return (out.argmax(1) == y).float().mean().item() * 100

    def train(self):
        args = self.args
        train_losses, test_accs = [], []
        for epoch in range(args.epochs):
            local_weights, local_losses = [], []
            m = max(int(args.frac * args.num_users), 1)
            idxs_users = np.random.choice(range(args.num_users), m, replace=False)
            for idx in idxs_users:
                w, loss = self.LocalModels[idx].update_weights(global_round=epoch)
                local_weights.append(w)
                local_losses.append(loss)
            global_weights = average_weights(local_weights)  # here
            loss_avg = sum(local_losses) / len(local_losses)
            train_losses.append(loss_avg)
            acc_local = np.mean([self.LocalModels[i].local_test_accuracy(self.testset)
                                 for i in range(args.num_users)])
            acc_global = self.global_test_accuracy()
            test_accs.append(acc_global)
            print('| Global Round : {:2d} | loss {:.4f} | local acc {:.2f}% | global acc {:.2f}%'
                  .format(epoch + 1, loss_avg, acc_local, acc_global))
        print('Average test accuracy of global model: {:.2f}%'.format(test_accs[-1]))


def get_dataset(args):
    g = torch.Generator().manual_seed(11)
    protos = torch.randn(args.num_classes, 40, generator=g)

    def make(n):
        y = torch.randint(0, args.num_classes, (n,), generator=g)
        return TensorDataset(protos[y] + 1.2 * torch.randn(n, 40, generator=g), y)

    trainset, testset = make(3000), make(600)
    order = torch.randperm(3000, generator=g)
    user_groups = {i: order[i::args.num_users] for i in range(args.num_users)}
    return trainset, testset, user_groups


if __name__ == '__main__':
    args = args_parser()
    torch.manual_seed(1234)
    np.random.seed(1234)
    trainset, testset, user_groups = get_dataset(args)
    global_model = ResNetish(args)
    server = Server(args, global_model, trainset, testset, user_groups)
    server.train()
