r"""Distributed data parallel example of a tutorial, started here with a single process.

Source: https://github.com/yangkky/distributed_tutorial/issues/5
Fault: train_sampler.set_epoch is never called, so the DistributedSampler shuffles with the same
    seed in every epoch and the batches are the same ones in the same order each time.
Cause: set_epoch|(sampler|shuffl\w*|order|batches).{0,140}(same|identical|each epoch|every epoch
    |again|repeat|seed|not (re)?shuffl|never (re)?shuffl|reshuffl)|(same|identical|fixed
    |unchanged).{0,40}(order|permutation|shuffl|sequence|batches)
Place: train_sampler|sampler|set_epoch|train|epoch
"""
import argparse
import os
import tempfile
from datetime import datetime

import torch
import torch.distributed as dist
import torch.nn as nn


class StrokeDataset(torch.utils.data.Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(3)
        protos = torch.rand(10, 1, 12, 12, generator=g).round()
        self.targets = torch.arange(10).repeat_interleave(n // 10)
        self.data = protos[self.targets] + 0.6 * torch.randn(n, 1, 12, 12, generator=g)

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, i):
        return self.data[i], self.targets[i], i


class ConvNet(nn.Module):
    def __init__(self, num_classes=10):
        super(ConvNet, self).__init__()
        self.layer1 = nn.Sequential(
            nn.Conv2d(1, 16, kernel_size=5, stride=1, padding=2),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=2, stride=2))
        self.layer2 = nn.Sequential(
            nn.Conv2d(16, 32, kernel_size=5, stride=1, padding=2),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=2, stride=2))
        self.fc = nn.Linear(3 * 3 * 32, num_classes)

    def forward(self, x):
        out = self.layer1(x)
        out = self.layer2(out)
        out = out.reshape(out.size(0), -1)
        return self.fc(out)


def train(gpu, args, init_file):
    rank = args.nr * args.gpus + gpu
    dist.init_process_group(backend="gloo", init_method="file://" + init_file,
                            world_size=args.world_size, rank=rank)
    torch.manual_seed(0)
    model = ConvNet()
    batch_size = 100
    # define loss function (criterion) and optimizer
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    # Wrap the model
    model = nn.parallel.DistributedDataParallel(model)
    # Data loading code
    train_dataset = StrokeDataset(2000)
    train_sampler = torch.utils.data.distributed.DistributedSampler(train_dataset,
                                                                    num_replicas=args.world_size,
                                                                    rank=rank)
    train_loader = torch.utils.data.DataLoader(dataset=train_dataset,
                                               batch_size=batch_size,
                                               shuffle=False,
                                               num_workers=0,
                                               sampler=train_sampler)

    start = datetime.now()
    total_step = len(train_loader)
    for epoch in range(args.epochs):  # here
        for i, (images, labels, index) in enumerate(train_loader):
            # Forward pass
            outputs = model(images)
            loss = criterion(outputs, labels)

            # Backward and optimize
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if i == 0:
                print("first samples of the epoch:", index[:6].tolist())
            if (i + 1) % 10 == 0 and gpu == 0:
                print("Epoch [{}/{}], Step [{}/{}], Loss: {:.4f}".format(
                    epoch + 1, args.epochs, i + 1, total_step, loss.item()))
    if gpu == 0:
        print("Training complete in: " + str(datetime.now() - start))
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", "--nodes", default=1, type=int, metavar="N")
    parser.add_argument("-g", "--gpus", default=1, type=int, help="number of processes per node")
    parser.add_argument("-nr", "--nr", default=0, type=int, help="ranking within the nodes")
    parser.add_argument("--epochs", default=5, type=int, metavar="N")
    args = parser.parse_args()
    args.world_size = args.gpus * args.nodes
    with tempfile.TemporaryDirectory() as folder:
        train(0, args, os.path.join(folder, "init"))


if __name__ == "__main__":
    main()
