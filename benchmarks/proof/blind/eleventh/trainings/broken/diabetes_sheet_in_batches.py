r"""A binary classifier for a clinical table that prints loss and accuracy of every epoch.

Source: http://www.kouhan.cn/en/article/00050761
Fault: correct counts the hits of the last mini-batch only, but it is divided by the number of rows
    of the whole table, so the printed accuracy is a tiny fraction though the net learns.
Cause: (accuracy|acc|correct|hits?|denominator)\b.*((whole|entire|full|all|total
    |number) (of )?(the )?(data|table|rows|samples|training|set|inputs)|data\s?set|x\.shape
    |wrong (size|number|count|denominator)|last (mini-?)?batch|one (mini-?)?batch
    |single (mini-?)?batch)
    |(divid\w+|normali[sz]\w+|ratio)\b.*(data\s?set|all (the )?(rows|samples)|x\.shape
    |number of (rows|samples|all))
    |(last|one|single|current) (mini-?)?batch\b.*(accuracy|correct|divid|denominator)
    |correct\b.*(not|never|overwritten|instead of)\b.*(accumulat|sum|added)
Place: correct|accuracy|x\.shape|epoch_acc
"""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class DiabetesDataset(Dataset):
    def __init__(self, data):
        self.x_data = torch.from_numpy(data[:, :-1].copy())
        self.y_data = torch.from_numpy(data[:, [-1]].copy())
        self.len = data.shape[0]

    def __getitem__(self, index):
        return self.x_data[index], self.y_data[index]

    def __len__(self):
        return self.len


def make_table(n=768, seed=7):
    rng = np.random.RandomState(seed)
    x = rng.normal(0, 1, (n, 8)).astype(np.float32)
    score = 1.5 * x[:, 1] + x[:, 5] - 0.8 * x[:, 7] + 0.9 * x[:, 1] * x[:, 5]
    y = (score + rng.normal(0, 0.3, n) > 0).astype(np.float32)
    return np.concatenate([x, y[:, None]], axis=1)


class Model(nn.Module):
    def __init__(self):
        super(Model, self).__init__()
        self.l1 = nn.Linear(8, 32)
        self.l2 = nn.Linear(32, 16)
        self.l3 = nn.Linear(16, 1)
        self.relu = nn.ReLU()
        self.sigmoid = nn.Sigmoid()

    def forward(self, x):
        out1 = self.relu(self.l1(x))
        out2 = self.relu(self.l2(out1))
        return self.sigmoid(self.l3(out2))


torch.manual_seed(1)
num_epochs = 15
batch_size = 32
learning_rate = 0.005

xy = make_table()
dataset = DiabetesDataset(xy)
x = dataset.x_data
train_loader = DataLoader(dataset=dataset, batch_size=batch_size, shuffle=True)

model = Model()
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)

history = {'loss': [], 'acc': []}
for epoch in range(num_epochs):
    running = 0.0
    for i, (inputs, labels) in enumerate(train_loader):
        # forward
        outputs = model(inputs)
        loss = criterion(outputs, labels)

        # backward + optimize
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item() * inputs.size(0)

    # accuracy
    output = (outputs > 0.5).float()
    correct = (output == labels).float().sum()
    epoch_loss = running / len(dataset)
    epoch_acc = (correct / x.shape[0]).item()  # here
    history['loss'].append(epoch_loss)
    history['acc'].append(epoch_acc)
    print("Epoch {}/{}, Loss: {:.3f}, Accuracy: {:.3f}".format(
        epoch + 1, num_epochs, epoch_loss, epoch_acc))

print('best accuracy %.3f' % max(history['acc']))
