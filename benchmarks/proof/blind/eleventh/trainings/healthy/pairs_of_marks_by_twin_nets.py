r"""The official Siamese example: twin convolutions, a BCE loss on the pair and a matcher of its own
data.

Source: https://github.com/pytorch/examples/blob/main/siamese_network/main.py
Healthy: the net has no contrastive distance, it joins both vectors and ends in a sigmoid with
    BCELoss, and the training pairs are drawn at random anew each epoch; it learns which marks are
    the same.
"""
import argparse
import random

import torch
import torch.nn as nn
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Dataset


class SiameseNetwork(nn.Module):
    """
        Siamese network for image similarity estimation: twin nets with shared weights, their
        outputs are concatenated and passed to linear layers.
    """
    def __init__(self):
        super(SiameseNetwork, self).__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(3))
        self.fc_in_features = 32 * 9

        # add linear layers to compare between the features of the two images
        self.fc = nn.Sequential(
            nn.Linear(self.fc_in_features * 2, 128),
            nn.ReLU(inplace=True),
            nn.Linear(128, 1),
        )
        self.sigmoid = nn.Sigmoid()

        # initialize the weights
        self.features.apply(self.init_weights)
        self.fc.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            torch.nn.init.xavier_uniform_(m.weight)
            m.bias.data.fill_(0.01)

    def forward_once(self, x):
        output = self.features(x)
        output = output.view(output.size()[0], -1)
        return output

    def forward(self, input1, input2):
        # get two images' features
        output1 = self.forward_once(input1)
        output2 = self.forward_once(input2)

        # concatenate both images' features
        output = torch.cat((output1, output2), 1)

        # pass the concatenation to the linear layers
        output = self.fc(output)

        # pass the out of the linear layers to sigmoid layer
        return self.sigmoid(output)


class APP_MATCHER(Dataset):
    def __init__(self, n, seed):
        super(APP_MATCHER, self).__init__()
        g = torch.Generator().manual_seed(17)
        self.marks = (torch.rand(4, 1, 12, 12, generator=g) < 0.3).float() * 2
        g = torch.Generator().manual_seed(seed)
        self.targets = torch.randint(0, 4, (n,), generator=g)
        self.data = self.marks[self.targets] + 0.3 * torch.randn(n, 1, 12, 12, generator=g)
        self.rng = random.Random(seed)
        self.group_examples()

    def group_examples(self):
        """indices of the examples of each class"""
        self.grouped_examples = {}
        for i in range(4):
            self.grouped_examples[i] = (self.targets == i).nonzero().view(-1).tolist()

    def __len__(self):
        return self.data.shape[0]

    def __getitem__(self, index):
        # pick some random class for the first image
        selected_class = self.rng.randint(0, 3)
        index_1 = self.rng.choice(self.grouped_examples[selected_class])
        image_1 = self.data[index_1]

        # same class
        if index % 2 == 0:
            index_2 = self.rng.choice(self.grouped_examples[selected_class])
            while index_2 == index_1:
                index_2 = self.rng.choice(self.grouped_examples[selected_class])
            target = torch.tensor(1, dtype=torch.float)
        # different class
        else:
            other = self.rng.randint(0, 3)
            while other == selected_class:
                other = self.rng.randint(0, 3)
            index_2 = self.rng.choice(self.grouped_examples[other])
            target = torch.tensor(0, dtype=torch.float)
        return image_1, self.data[index_2], target


def train(args, model, device, train_loader, optimizer, epoch):
    model.train()
    criterion = nn.BCELoss()
    for batch_idx, (images_1, images_2, targets) in enumerate(train_loader):
        optimizer.zero_grad()
        outputs = model(images_1, images_2).squeeze()
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        if batch_idx % args.log_interval == 0:
            print('Train Epoch: {} [{}/{}]\tLoss: {:.6f}'.format(
                epoch, batch_idx * len(images_1), len(train_loader.dataset), loss.item()))


def test(model, device, test_loader):
    model.eval()
    test_loss = 0
    correct = 0
    criterion = nn.BCELoss()
    with torch.no_grad():
        for (images_1, images_2, targets) in test_loader:
            outputs = model(images_1, images_2).squeeze()
            test_loss += criterion(outputs, targets).sum().item() * len(targets)
            pred = torch.where(outputs > 0.5, 1, 0)
            correct += pred.eq(targets.view_as(pred)).sum().item()
    test_loss /= len(test_loader.dataset)
    print('\nTest set: Average loss: {:.4f}, Accuracy: {}/{} ({:.0f}%)\n'.format(
        test_loss, correct, len(test_loader.dataset),
        100. * correct / len(test_loader.dataset)))


def main():
    parser = argparse.ArgumentParser(description='PyTorch Siamese network Example')
    parser.add_argument('--batch-size', type=int, default=32, metavar='N')
    parser.add_argument('--epochs', type=int, default=6, metavar='N')
    parser.add_argument('--lr', type=float, default=1.0, metavar='LR')
    parser.add_argument('--gamma', type=float, default=0.8, metavar='M')
    parser.add_argument('--seed', type=int, default=1, metavar='S')
    parser.add_argument('--log-interval', type=int, default=25, metavar='N')
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    device = torch.device("cpu")
    train_loader = DataLoader(APP_MATCHER(1600, 2), batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(APP_MATCHER(400, 3), batch_size=100)
    model = SiameseNetwork().to(device)
    optimizer = optim.Adadelta(model.parameters(), lr=args.lr)
    scheduler = StepLR(optimizer, step_size=1, gamma=args.gamma)
    for epoch in range(1, args.epochs + 1):
        train(args, model, device, train_loader, optimizer, epoch)
        test(model, device, test_loader)
        scheduler.step()


if __name__ == '__main__':
    main()
