r"""Linear evaluation of a pretrained visual backbone on another kind of images.

Source: https://github.com/kdexd/virtex/issues/16
Fault: model.train() puts the frozen backbone into training mode too, so its batch norms use the
    statistics of the batch and overwrite the running ones with those of the new images; the
    backbone that is saved after the evaluation is not the pretrained one any more.
Cause: (batch.?norm\w*|\bBN\b|running|statistics|buffers?).{0,160}(updat|chang|overwrit|train
    |drift|mov|eval|batch statistics|frozen)|(frozen|backbone|visual).{0,140}(train(ing)? mode
    |\.?train\(|eval|batch.?norm|running|statistics)|train\(\).{0,120}(backbone|frozen|batch.?norm
    |running)
Place: train|model|visual|bn\d?|backbone|eval
"""
import argparse
import os
import tempfile

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class VisualBackbone(nn.Module):
    def __init__(self, feature_size=64):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, stride=2, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(32)
        self.conv3 = nn.Conv2d(32, feature_size, 3, stride=2, padding=1, bias=False)
        self.bn3 = nn.BatchNorm2d(feature_size)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.bn2(self.conv2(x)))
        x = torch.relu(self.bn3(self.conv3(x)))
        return x.mean((2, 3))


def make_images(n, num_classes, seed, shift=0.0, scale=1.0):
    g = torch.Generator().manual_seed(100 + num_classes)
    protos = torch.randn(num_classes, 3, 12, 12, generator=g)
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(num_classes, (n,), generator=g)
    x = protos[y] + 0.7 * torch.randn(n, 3, 12, 12, generator=g)
    return TensorDataset(scale * x + shift, y)


def accuracy(model, dataset):
    model.eval()
    x, y = dataset.tensors
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def pretrain(visual, epochs=4):
    train, val = make_images(1000, 8, 0), make_images(400, 8, 1)
    model = nn.Sequential(visual, nn.Linear(64, 8))
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        model.train()
        for x, y in DataLoader(train, batch_size=50, shuffle=True):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        print("pretraining epoch %d: accuracy %.3f" % (epoch, accuracy(model, val)))
    return model, val


def main(_A, folder):
    visual = VisualBackbone()
    pretext, pretext_val = pretrain(visual)
    path = os.path.join(folder, "visual.pth")
    torch.save(visual.state_dict(), path)

    # new images are darker and of less contrast
    train_dataset = make_images(800, 5, 2, shift=-1.5, scale=0.4)
    val_dataset = make_images(400, 5, 3, shift=-1.5, scale=0.4)
    train_dataloader = DataLoader(train_dataset, batch_size=_A.batch_size, shuffle=True)

    model = nn.Sequential()
    model.add_module("visual", VisualBackbone())
    model.add_module("fc", nn.Linear(64, 5))
    model.visual.load_state_dict(torch.load(path))

    # Freeze all layers except FC as per config param.
    for param in model.visual.parameters():
        param.requires_grad = False
    nn.init.normal_(model.fc.weight, mean=0.0, std=0.01)
    nn.init.constant_(model.fc.bias, 0.0)

    optimizer = optim.SGD(model.fc.parameters(), lr=_A.lr, momentum=0.9)
    criterion = nn.CrossEntropyLoss()

    iteration = 0
    while iteration < _A.num_iterations:
        model.train()  # here
        for images, labels in train_dataloader:
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            iteration += 1
        acc = accuracy(model, val_dataset)
        print("iteration %d: loss %.4f, top-1 %.3f" % (iteration, loss.item(), acc))

    before = accuracy(pretext, pretext_val)
    pretext[0].load_state_dict(model.visual.state_dict())
    after = accuracy(pretext, pretext_val)
    print("pretraining task with the backbone before %.3f and after %.3f" % (before, after))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Linear classification on frozen features.")
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--num_iterations", type=int, default=150)
    with tempfile.TemporaryDirectory() as folder:
        main(parser.parse_args(), folder)
