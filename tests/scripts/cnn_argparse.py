"""Train a small CNN on synthetic digits."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn, optim


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3)
        self.conv2 = nn.Conv2d(4, 8, 3)
        self.dropout = nn.Dropout(0.25)
        self.fc = nn.Linear(8 * 2 * 2, 5)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return F.log_softmax(self.fc(self.dropout(torch.flatten(x, 1))), dim=1)


def train(args, model, batches, optimizer, epoch):
    model.train()
    for index, (data, target) in enumerate(batches):
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        # truth: before("model", optimizer, loss)
        optimizer.step()
        # truth: after("model")
        if index % args.log_interval == 0:
            print(f"Train Epoch: {epoch} [{index}/{len(batches)}]\tLoss: {loss.item():.6f}")


def test(model, batches):
    model.eval()
    test_loss, correct = 0.0, 0
    with torch.no_grad():
        for data, target in batches:
            output = model(data)
            test_loss += F.nll_loss(output, target, reduction="sum").item()
            correct += output.argmax(dim=1).eq(target).sum().item()
    print(f"\nTest set: Average loss: {test_loss / 16:.4f}, Accuracy: {correct}/16\n")


def main():
    parser = argparse.ArgumentParser(description="PyTorch CNN example")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log-interval", type=int, default=2)
    parser.add_argument("--save-model", metavar="FILE")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    data = [(torch.randn(8, 1, 8, 8), torch.randint(5, (8,))) for _ in range(6)]
    model = Net()
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=0.5)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    for epoch in range(1, args.epochs + 1):
        train(args, model, data[:4], optimizer, epoch)
        test(model, data[4:])
        scheduler.step()
    if args.save_model:
        torch.save(model.state_dict(), args.save_model)


if __name__ == "__main__":
    main()
