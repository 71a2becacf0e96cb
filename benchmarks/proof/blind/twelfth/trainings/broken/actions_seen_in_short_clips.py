r"""Action recognition on short synthetic clips, with a metrics object as in a video platform.

Source: https://github.com/MichiganCOG/ViP/issues/34
Fault: the validation accuracy object is made once before the epochs, so its counts go on through
    the whole training; what is printed and compared is the mean over all epochs so far, which lags
    behind and picks the wrong epoch as the best.
Cause: (acc\w*|metric|count|correct|total|meter|valid\w*).{0,160}(reset|accumulat|previous epochs?
    |all epochs|across epochs|carr(y|ied)|cumulative|once before|never cleared|whole training
    |earlier epochs?|grow)|(reset|accumulat\w*|carried over|cumulative).{0,120}(acc|metric|epochs?
    |meter)|(correct|total|counts?|metric|acc\w*).{0,60}(goes? on|continu|keep|kept|over (the|all
    |several)).{0,40}epochs?
Place: acc_metric|val_acc|valid\w*|Accuracy|acc|correct|total
"""
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(999)
np.random.seed(999)

ACTIONS = ["left", "right", "up", "down", "grow", "still"]


def make_clips(n, frames=6, size=12):
    clips = np.zeros((n, 1, frames, size, size), dtype=np.float32)
    labels = np.random.randint(len(ACTIONS), size=n)
    for i, a in enumerate(labels):
        y, x, r = np.random.randint(4, 8), np.random.randint(4, 8), 1
        for t in range(frames):
            clips[i, 0, t, max(y - r, 0):y + r + 1, max(x - r, 0):x + r + 1] = 1
            if t % 2:
                x += (a == 1) * 1 - (a == 0) * 1
                y += (a == 3) * 1 - (a == 2) * 1
                r += (a == 4) * 1
    clips += 0.4 * np.random.randn(*clips.shape)
    return TensorDataset(torch.from_numpy(clips), torch.from_numpy(labels))


class C3DSmall(nn.Module):
    def __init__(self, num_classes):
        super(C3DSmall, self).__init__()
        self.conv1 = nn.Conv3d(1, 8, kernel_size=3, padding=1)
        self.pool1 = nn.MaxPool3d(kernel_size=(1, 2, 2))
        self.conv2 = nn.Conv3d(8, 16, kernel_size=3, padding=1)
        self.pool2 = nn.MaxPool3d(kernel_size=2)
        self.fc6 = nn.Linear(16 * 3 * 3 * 3, 64)
        self.fc7 = nn.Linear(64, num_classes)
        self.relu = nn.ReLU()

    def forward(self, x):
        x = self.pool1(self.relu(self.conv1(x)))
        x = self.pool2(self.relu(self.conv2(x)))
        x = self.relu(self.fc6(x.flatten(1)))
        return self.fc7(x)


class Accuracy(object):
    """
    Standard accuracy computation. # of correctly labeled inputs / total # of inputs
    """

    def __init__(self):
        self.correct = 0.
        self.total = 0.

    def compute_metric(self, predictions, target):
        self.correct += (predictions.argmax(1) == target).sum().item()
        self.total += target.shape[0]
        return self.correct / self.total


class Metrics(object):
    def __init__(self, acc_metric):
        assert acc_metric == "Accuracy"
        self.metric_object = Accuracy()

    def get_accuracy(self, predictions, targets):
        return self.metric_object.compute_metric(predictions, targets)


def valid(valid_loader, model, acc_metric):
    model.eval()
    with torch.no_grad():
        for vid, labels in valid_loader:
            outputs = model(vid)
            valid_accuracy = acc_metric.get_accuracy(outputs, labels)
    return valid_accuracy


def train(args):
    train_loader = DataLoader(make_clips(500), batch_size=args["batch_size"], shuffle=True)
    valid_loader = DataLoader(make_clips(200), batch_size=50)

    model = C3DSmall(len(ACTIONS))
    optimizer = optim.SGD(model.parameters(), lr=args["lr"], momentum=0.9)
    scheduler = optim.lr_scheduler.MultiStepLR(optimizer, milestones=[8], gamma=0.1)
    model_loss = nn.CrossEntropyLoss()
    acc_metric = Metrics(args["acc_metric"])  # here
    best_val_acc = 0.0

    for epoch in range(args["epoch"]):
        model.train()
        running_loss = 0.0
        hits, seen = 0, 0
        print("Epoch: ", epoch)
        for step, (vid, labels) in enumerate(train_loader):
            outputs = model(vid)
            loss = model_loss(outputs, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running_loss += loss.item()
            hits += (outputs.argmax(1) == labels).sum().item()
            seen += len(labels)
        scheduler.step()
        print("Train loss: %.4f accuracy: %.4f" % (running_loss / len(train_loader), hits / seen))

        val_acc = valid(valid_loader, model, acc_metric)
        print("Validation accuracy for epoch %d: %.4f" % (epoch, val_acc))
        if val_acc > best_val_acc:
            best_val_acc = val_acc

    print("Best validation accuracy: %.4f" % best_val_acc)


if __name__ == "__main__":
    train({"batch_size": 20, "lr": 0.03, "epoch": 10, "acc_metric": "Accuracy"})
