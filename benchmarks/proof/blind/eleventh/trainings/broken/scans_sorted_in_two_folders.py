r"""A CNN with batch norm that separates two kinds of grey pictures, with train_model as posted.

Source: https://whosebug.com/question/6339715
Fault: the net has one output and the prediction is the index of the maximum over that one output,
    which is always 0; the accuracy stays at the share of class 0 whatever the net has learnt.
Cause: (arg\s?-?max|torch\.max|\bmax(imum)?( is taken| taken)? (over|of|along|in|on|across)
    |index)\b.*(one|single|only|\b1\b|always|constant|zero|\b0\b)
    |(one|single)[- ](output|logit|column|unit|score|neuron|element|class)\b.*(arg\s?-?max|max\b
    |index|threshold|always)
    |(threshold|round|sigmoid|> ?0)\w*\b.*(instead|not|never|should).*(arg\s?-?max|max\b)
    |(prediction|predicted (class|label)s?|yhat)\b.*(max|index|size 1|one column)\b.*(always
    |constant|can only|never anything)
    |(yhat|predicted (class|label)|prediction)\b.*(cannot|can not|can only|never)\b.*(other
    |anything|but|be)
Place: yhat|max|train_model|argmax|fc3
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
np.random.seed(0)


class Scans(Dataset):
    def __init__(self, n, seed):
        rng = np.random.RandomState(seed)
        self.x, self.y = [], []
        for i in range(n):
            label = i % 2
            img = rng.normal(0, 0.25, (32, 32)).astype(np.float32)
            r, c = rng.randint(4, 18, 2)
            if label == 1:
                img[r:r + 9, c:c + 9] += 1.0
            else:
                img[r:r + 9, c:c + 3] += 1.0
                img[r:r + 3, c:c + 9] += 1.0
            self.x.append(img[None])
            self.y.append(float(label))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), torch.tensor([self.y[i]])


class CNN(nn.Module):

    # Contructor
    def __init__(self):
        super(CNN, self).__init__()
        # Conv1
        self.cnn1 = nn.Conv2d(in_channels=1, out_channels=16, kernel_size=5, stride=1, padding=0)
        self.conv1_bn = nn.BatchNorm2d(16)
        self.maxpool1 = nn.MaxPool2d(kernel_size=2, stride=2)

        # Conv2
        self.cnn2 = nn.Conv2d(in_channels=16, out_channels=16, kernel_size=5, stride=1, padding=0)
        self.conv2_bn = nn.BatchNorm2d(16)
        self.maxpool2 = nn.MaxPool2d(kernel_size=2, stride=2)

        # FCL 1
        self.fc1 = nn.Linear(in_features=16 * 5 * 5, out_features=50)
        self.bn_fc1 = nn.BatchNorm1d(50)

        # FCL 2
        self.fc2 = nn.Linear(in_features=50, out_features=50)
        self.bn_fc2 = nn.BatchNorm1d(50)

        # FCL3
        self.fc3 = nn.Linear(in_features=50, out_features=1)

    # Prediction
    def forward(self, x):
        # conv1
        x = self.cnn1(x)
        x = self.conv1_bn(x)
        x = F.relu(x)
        x = self.maxpool1(x)
        # conv2
        x = self.cnn2(x)
        x = self.conv2_bn(x)
        x = F.relu(x)
        x = self.maxpool2(x)
        # FC1
        x = x.view(x.size(0), -1)
        x = F.relu(self.bn_fc1(self.fc1(x)))
        # FC2
        x = F.relu(self.bn_fc2(self.fc2(x)))
        # FC3
        x = self.fc3(x)
        x = torch.sigmoid(x)
        return x


def train_model(model, train_loader, test_loader, optimizer, N_test, n_epochs=5):
    # LOSS
    criterion = nn.BCELoss()
    accuracy_list = []
    loss_list = []
    for epoch in range(n_epochs):
        cost = 0
        model.train()
        print(f"Epoch: {epoch + 1}")
        for x, y in train_loader:
            optimizer.zero_grad()
            z = model(x)
            loss = criterion(z, y)
            loss.backward()
            optimizer.step()
            cost += loss.item()

        correct = 0
        model.eval()
        with torch.no_grad():
            for x_test, y_test in test_loader:
                z = model(x_test)
                _, yhat = torch.max(z.data, 1)  # here
                correct += (yhat.view(-1) == y_test.view(-1)).sum().item()
        accuracy = correct / N_test
        accuracy_list.append(accuracy)
        loss_list.append(cost)
        print(f"------>  loss: {round(cost, 8)}, accuracy_val: %{accuracy * 100}")
    return accuracy_list, loss_list


train_data, val_data = Scans(512, 1), Scans(128, 2)
train_loader = DataLoader(train_data, batch_size=32, shuffle=True)
val_loader = DataLoader(val_data, batch_size=64)

model = CNN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
acc, cost = train_model(model, train_loader, val_loader, optimizer, N_test=len(val_data))
print('accuracy per epoch', acc)
