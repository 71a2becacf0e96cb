r"""Point clouds of four bodies, turned at random by numpy in the workers of the DataLoader.

Source: https://github.com/open-mmlab/OpenPCDet/issues/886
Healthy: numpy's random numbers in workers used to be the same in each worker and each epoch, but
    since PyTorch 1.9 the workers seed numpy themselves, so there is no need of a worker_init_fn.
"""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

np.random.seed(0)
torch.manual_seed(0)

CLASSES = ["box", "ball", "rod", "ring"]


def sample_body(label, rng, num=48):
    if label == 0:
        p = rng.uniform(-0.6, 0.6, (num, 3))
        axis = rng.randint(3, size=num)
        p[np.arange(num), axis] = np.sign(p[np.arange(num), axis]) * 0.6
    elif label == 1:
        p = rng.randn(num, 3)
        p = 0.8 * p / np.linalg.norm(p, axis=1, keepdims=True)
    elif label == 2:
        p = 0.12 * rng.randn(num, 3)
        p[:, 0] = rng.uniform(-1, 1, num)
    else:
        a = rng.uniform(0, 2 * np.pi, num)
        p = np.stack([0.8 * np.cos(a), 0.8 * np.sin(a), 0 * a], 1) + 0.05 * rng.randn(num, 3)
    return p


class DataAugmentor(object):
    def random_world_rotation(self, points):
        angle = np.random.uniform(0, 2 * np.pi)
        c, s = np.cos(angle), np.sin(angle)
        rot_z = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        angle = np.random.uniform(0, 2 * np.pi)
        c, s = np.cos(angle), np.sin(angle)
        rot_x = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
        return points @ rot_z.T @ rot_x.T

    def random_world_scaling(self, points):
        return points * np.random.uniform(0.8, 1.2)

    def forward(self, points):
        points = self.random_world_rotation(points)
        return self.random_world_scaling(points)


class PointDataset(Dataset):
    def __init__(self, n, seed, training=True):
        rng = np.random.RandomState(seed)
        self.labels = rng.randint(4, size=n)
        self.clouds = [sample_body(l, rng) for l in self.labels]
        self.training = training
        self.data_augmentor = DataAugmentor()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        points = self.clouds[index]
        if self.training:
            points = self.data_augmentor.forward(points)
        return torch.tensor(points, dtype=torch.float32), int(self.labels[index])


class PointNet(nn.Module):
    def __init__(self, num_class):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 64), nn.ReLU(),
                                 nn.Linear(64, 96))
        self.head = nn.Sequential(nn.Linear(96, 48), nn.ReLU(), nn.Linear(48, num_class))

    def forward(self, x):
        return self.head(self.mlp(x).max(dim=1)[0])


def turned(dataset):
    aug = DataAugmentor()
    x = np.stack([aug.forward(c) for c in dataset.clouds])
    return torch.tensor(x, dtype=torch.float32), torch.tensor(dataset.labels)


def main():
    train_set, test_set = PointDataset(400, 1), PointDataset(200, 2, training=False)
    dataloader = DataLoader(train_set, batch_size=20, num_workers=2, shuffle=True)
    model = PointNet(len(CLASSES))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    x_test, y_test = turned(test_set)
    for epoch in range(12):
        model.train()
        total = 0.0
        for points, labels in dataloader:
            optimizer.zero_grad()
            loss = criterion(model(points), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 3 == 2:
            model.eval()
            with torch.no_grad():
                acc = (model(x_test).argmax(1) == y_test).float().mean().item()
            print("epoch %d loss %.4f accuracy on turned bodies %.3f" % (
                epoch, total / len(dataloader), acc))


if __name__ == "__main__":
    main()
