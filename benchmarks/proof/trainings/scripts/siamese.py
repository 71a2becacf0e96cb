"""In the style of pytorch/examples/siamese_network: one body with BatchNorm called twice."""

import json

import torch
from torch import nn, optim
from torch.optim.lr_scheduler import StepLR


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(2),
        )
        self.fc = nn.Sequential(nn.Linear(64, 32), nn.ReLU(inplace=True), nn.Linear(32, 1))
        self.sigmoid = nn.Sigmoid()
        self.fc.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            torch.nn.init.xavier_uniform_(m.weight)
            m.bias.data.fill_(0.01)

    def forward_once(self, x):
        output = self.body(x)
        return output.view(output.size()[0], -1)

    def forward(self, input1, input2):
        output = torch.cat((self.forward_once(input1), self.forward_once(input2)), 1)
        return self.sigmoid(self.fc(output))


def pairs(count=32):
    kind = torch.randint(2, (2, count))
    images = 0.3 * torch.randn(2, count, 1, 8, 8)
    for side in range(2):
        for i, k in enumerate(kind[side].tolist()):
            images[side, i, 0, 4 * k : 4 * k + 4] += 1
    return images[0], images[1], (kind[0] == kind[1]).float()


def main():
    torch.manual_seed(1)
    model = SiameseNetwork()
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
    criterion, losses = nn.BCELoss(), []
    for epoch in range(5):
        model.train()
        for _ in range(20):
            images_1, images_2, targets = pairs()
            optimizer.zero_grad()
            outputs = model(images_1, images_2).squeeze()
            loss = criterion(outputs, targets)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            images_1, images_2, targets = pairs(64)
            outputs = model(images_1, images_2).squeeze()
            print(epoch, loss.item(), criterion(outputs, targets).item())
        scheduler.step()
    print("TRUTH", json.dumps({"model": ["Adadelta", 100, losses[0], losses[-1]]}))


if __name__ == "__main__":
    main()
