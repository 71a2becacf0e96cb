r"""FedAvg with users who hold their own pictures: sampling, LocalUpdate, FedAvg and test_img.

Source: https://github.com/shaoxiongji/federated-learning/issues/9
Fault: the net ends with a softmax and its output goes into CrossEntropyLoss, which applies a
    softmax itself; the gradients are small and the accuracy stays lower than it could.
Cause: softmax\b.*(twice|double|again|already|second|cross.?entropy|before|on top|itself
    |redundant|loss)
    |(double|two|second|extra|additional)\b.*softmax
    |(cross.?entropy\w*|loss_func|nll)\b.*(logits|softmax|probabilit\w+|normali[sz]ed)
    |probabilit\w+\b.*(instead of|rather than|not) (raw |unnormali[sz]ed )?(logits|scores)
Place: softmax|MLP|forward|CrossEntropyLoss|loss_func
"""
import argparse
import copy

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset


def args_parser():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=8, help="rounds of training")
    parser.add_argument('--num_users', type=int, default=10, help="number of users: K")
    parser.add_argument('--frac', type=float, default=0.4, help="the fraction of clients: C")
    parser.add_argument('--local_ep', type=int, default=2, help="the number of local epochs: E")
    parser.add_argument('--local_bs', type=int, default=10, help="local batch size: B")
    parser.add_argument('--lr', type=float, default=0.05, help="learning rate")
    parser.add_argument('--momentum', type=float, default=0.0)
    parser.add_argument('--seed', type=int, default=1)
    return parser.parse_args()


def pictures(n, seed, k=10):
    proto = np.random.RandomState(7).normal(0, 1, (k, 1, 10, 10))
    rng = np.random.RandomState(seed)
    y = rng.randint(0, k, n)
    x = 0.45 * proto[y] + rng.normal(0, 1, (n, 1, 10, 10))
    return TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y))


def mnist_iid(dataset, num_users):
    """Sample I.I.D. client data"""
    num_items = int(len(dataset) / num_users)
    dict_users, all_idxs = {}, [i for i in range(len(dataset))]
    for i in range(num_users):
        dict_users[i] = set(np.random.choice(all_idxs, num_items, replace=False))
        all_idxs = list(set(all_idxs) - dict_users[i])
    return dict_users


class DatasetSplit(Dataset):
    def __init__(self, dataset, idxs):
        self.dataset = dataset
        self.idxs = list(idxs)

    def __len__(self):
        return len(self.idxs)

    def __getitem__(self, item):
        return self.dataset[self.idxs[item]]


class MLP(nn.Module):
    def __init__(self, dim_in, dim_hidden, dim_out):
        super(MLP, self).__init__()
        self.layer_input = nn.Linear(dim_in, dim_hidden)
        self.relu = nn.ReLU()
        self.dropout = nn.Dropout(p=0.2)
        self.layer_hidden = nn.Linear(dim_hidden, dim_out)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        x = x.view(-1, x.shape[1] * x.shape[-2] * x.shape[-1])
        x = self.layer_input(x)
        x = self.dropout(x)
        x = self.relu(x)
        x = self.layer_hidden(x)
        return self.softmax(x)  # here


class LocalUpdate(object):
    def __init__(self, args, dataset=None, idxs=None):
        self.args = args
        self.loss_func = nn.CrossEntropyLoss()
        self.ldr_train = DataLoader(DatasetSplit(dataset, idxs), batch_size=args.local_bs,
                                    shuffle=True)

    def train(self, net):
        net.train()
        optimizer = torch.optim.SGD(net.parameters(), lr=self.args.lr,
                                    momentum=self.args.momentum)
        epoch_loss = []
        for iter in range(self.args.local_ep):
            batch_loss = []
            for batch_idx, (images, labels) in enumerate(self.ldr_train):
                net.zero_grad()
                log_probs = net(images)
                loss = self.loss_func(log_probs, labels)
                loss.backward()
                optimizer.step()
                batch_loss.append(loss.item())
            epoch_loss.append(sum(batch_loss) / len(batch_loss))
        return net.state_dict(), sum(epoch_loss) / len(epoch_loss)


def FedAvg(w):
    w_avg = copy.deepcopy(w[0])
    for k in w_avg.keys():
        for i in range(1, len(w)):
            w_avg[k] += w[i][k]
        w_avg[k] = torch.div(w_avg[k], len(w))
    return w_avg


def test_img(net_g, datatest):
    net_g.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for data, target in DataLoader(datatest, batch_size=100):
            log_probs = net_g(data)
            test_loss += F.cross_entropy(log_probs, target, reduction='sum').item()
            correct += (log_probs.argmax(1) == target).sum().item()
    return 100.00 * correct / len(datatest), test_loss / len(datatest)


if __name__ == '__main__':
    args = args_parser()
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    dataset_train, dataset_test = pictures(2400, 0), pictures(600, 1)
    dict_users = mnist_iid(dataset_train, args.num_users)

    net_glob = MLP(dim_in=100, dim_hidden=64, dim_out=10)
    print(net_glob)
    loss_train = []
    for iter in range(args.epochs):
        loss_locals, w_locals = [], []
        m = max(int(args.frac * args.num_users), 1)
        idxs_users = np.random.choice(range(args.num_users), m, replace=False)
        for idx in idxs_users:
            local = LocalUpdate(args=args, dataset=dataset_train, idxs=dict_users[idx])
            w, loss = local.train(net=copy.deepcopy(net_glob))
            w_locals.append(copy.deepcopy(w))
            loss_locals.append(loss)
        net_glob.load_state_dict(FedAvg(w_locals))
        loss_avg = sum(loss_locals) / len(loss_locals)
        print('Round {:3d}, Average loss {:.3f}'.format(iter, loss_avg))
        loss_train.append(loss_avg)

    print("Training accuracy: {:.2f} (loss {:.3f})".format(*test_img(net_glob, dataset_train)))
    print("Testing accuracy: {:.2f} (loss {:.3f})".format(*test_img(net_glob, dataset_test)))
