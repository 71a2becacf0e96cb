r"""The first part of a federated tutorial: centralised and federated training with train and test.

Source: https://github.com/flwrlabs/flower/pull/1472
Fault: train() sums the loss of the training batches and divides it by the number of samples of the
    test set, so the printed train loss is far too large and not comparable with the test loss.
Cause: (loss|epoch_loss|average|mean)\b.*(divid\w+|normali[sz]\w+|averag\w+|denominator|over
    |by)\b.*(test|wrong (set|loader|number|size|count|data))
    |(divid\w+|normali[sz]\w+|denominator|scal\w+)\b.*(test\s?_?(set|loader|data|samples)
    |number of test|size of the test)
    |(test\s?_?loader|test\s?set|testloader)\b.*(denominator|divid|normali[sz]|train(ing)? loss
    |in train|size|length|len)
Place: epoch_loss|testloader|train\b
"""
from collections import OrderedDict
from typing import List

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

DEVICE = torch.device("cpu")
NUM_CLIENTS = 4
BATCH_SIZE = 32
torch.manual_seed(11)


def load_pictures(n, seed):
    g = torch.Generator().manual_seed(3)
    protos = torch.randn(6, 3, 16, 16, generator=g)
    g = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 6, (n,), generator=g)
    images = protos[labels] + 1.2 * torch.randn(n, 3, 16, 16, generator=g)
    return TensorDataset(images, labels)


def load_datasets():
    trainset, testset = load_pictures(1280, 1), load_pictures(160, 2)
    # Split training set into partitions to simulate the individual dataset
    partition_size = len(trainset) // NUM_CLIENTS
    datasets = random_split(trainset, [partition_size] * NUM_CLIENTS,
                            torch.Generator().manual_seed(42))
    trainloaders, valloaders = [], []
    for ds in datasets:
        len_val = len(ds) // 10
        ds_train, ds_val = random_split(ds, [len(ds) - len_val, len_val],
                                        torch.Generator().manual_seed(42))
        trainloaders.append(DataLoader(ds_train, batch_size=BATCH_SIZE, shuffle=True))
        valloaders.append(DataLoader(ds_val, batch_size=BATCH_SIZE))
    testloader = DataLoader(testset, batch_size=BATCH_SIZE)
    return trainloaders, valloaders, testloader


trainloaders, valloaders, testloader = load_datasets()


class Net(nn.Module):
    def __init__(self) -> None:
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(3, 6, 3)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 3)
        self.fc1 = nn.Linear(16 * 2 * 2, 60)
        self.fc3 = nn.Linear(60, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.view(-1, 16 * 2 * 2)
        x = F.relu(self.fc1(x))
        return self.fc3(x)


def train(net, trainloader, epochs: int, verbose=False):
    """Train the network on the training set."""
    criterion = torch.nn.CrossEntropyLoss(reduction='sum')
    optimizer = torch.optim.Adam(net.parameters())
    net.train()
    for epoch in range(epochs):
        correct, total, epoch_loss = 0, 0, 0.0
        for images, labels in trainloader:
            images, labels = images.to(DEVICE), labels.to(DEVICE)
            optimizer.zero_grad()
            outputs = net(images)
            loss = criterion(outputs, labels)
            (loss / labels.size(0)).backward()
            optimizer.step()
            # Metrics
            epoch_loss += loss.item()
            total += labels.size(0)
            correct += (torch.max(outputs.data, 1)[1] == labels).sum().item()
        epoch_loss /= len(testloader.dataset)  # here
        epoch_acc = correct / total
        if verbose:
            print(f"Epoch {epoch + 1}: train loss {epoch_loss:.4f}, accuracy {epoch_acc:.3f}")


def test(net, loader):
    """Evaluate the network on the entire test set."""
    criterion = torch.nn.CrossEntropyLoss(reduction='sum')
    correct, total, loss = 0, 0, 0.0
    net.eval()
    with torch.no_grad():
        for images, labels in loader:
            outputs = net(images)
            loss += criterion(outputs, labels).item()
            _, predicted = torch.max(outputs.data, 1)
            total += labels.size(0)
            correct += (predicted == labels).sum().item()
    return loss / len(loader.dataset), correct / total


def get_parameters(net) -> List[np.ndarray]:
    return [val.cpu().numpy() for _, val in net.state_dict().items()]


def set_parameters(net, parameters: List[np.ndarray]):
    params_dict = zip(net.state_dict().keys(), parameters)
    state_dict = OrderedDict({k: torch.tensor(v) for k, v in params_dict})
    net.load_state_dict(state_dict, strict=True)


if __name__ == "__main__":
    net = Net().to(DEVICE)
    whole = DataLoader(torch.utils.data.ConcatDataset([t.dataset for t in trainloaders]),
                       batch_size=BATCH_SIZE, shuffle=True)
    train(net, whole, epochs=4, verbose=True)
    loss, accuracy = test(net, testloader)
    print(f"Final test set performance:\n\tloss {loss:.4f}\n\taccuracy {accuracy:.3f}")

    glob = Net().to(DEVICE)
    for rnd in range(4):
        weights = []
        for tl in trainloaders:
            set_parameters(glob_c := Net(), get_parameters(glob))
            train(glob_c, tl, epochs=2)
            weights.append(get_parameters(glob_c))
        set_parameters(glob, [np.mean(w, axis=0) for w in zip(*weights)])
        print("round", rnd, "federated loss %.4f acc %.3f" % test(glob, testloader))
