r"""Focal loss with class weights for four kinds of parts on a belt, one of them common.

Source: https://github.com/yatengLG/Focal-Loss-Pytorch/issues/5
Fault: forward stores the weights gathered for the labels of the batch in self.alpha itself, so
    the table of class weights is replaced; the next call gathers from the last batch, after a few
    steps all classes have one weight and the rare kinds are missed.
Cause: alpha.{0,140}(overwrit|replac|reassign|modif|chang|mutat|rebound|destroy|stored? back|lost
    |next (call|batch|step)|previous batch|last batch|every (call|step|batch)|collaps)|(overwrit
    |replac|reassign|modif|mutat|stores?)\w*.{0,120}(alpha|class weights?|attribute)|(weights?
    |state).{0,80}(leak|carry|carried|persist).{0,40}(batch|call|step)
    |(class )?weights?( of the loss)?.{0,80}(chang\w*|differ\w*).{0,40}(call|batch|step|forward)
    |alpha.{0,80}(shape|size|length)
Place: alpha|focal_loss|forward|gather
"""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
np.random.seed(0)


class focal_loss(nn.Module):
    def __init__(self, alpha=0.25, gamma=2, num_classes=3, size_average=True):
        """
        focal_loss, -alpha(1-yi)**gamma * ce_loss(xi,yi)
        :param alpha: weight of the classes; a list has one weight for each class, a number is the
                      weight of class 0 and all others get 1 - alpha
        :param gamma: how much less easy samples count
        :param num_classes: number of classes
        :param size_average: mean or sum
        """
        super(focal_loss, self).__init__()
        self.size_average = size_average
        if isinstance(alpha, list):
            assert len(alpha) == num_classes
            print("Focal_loss alpha = {}, one weight for each class".format(alpha))
            self.alpha = torch.Tensor(alpha)
        else:
            assert alpha < 1
            print("Focal_loss alpha = {}, less weight for the background".format(alpha))
            self.alpha = torch.zeros(num_classes)
            self.alpha[0] += alpha
            self.alpha[1:] += (1 - alpha)
        self.gamma = gamma

    def forward(self, preds, labels):
        preds = preds.view(-1, preds.size(-1))
        self.alpha = self.alpha.to(preds.device)
        preds_softmax = F.softmax(preds, dim=1)
        preds_logsoft = torch.log(preds_softmax)
        preds_softmax = preds_softmax.gather(1, labels.view(-1, 1))
        preds_logsoft = preds_logsoft.gather(1, labels.view(-1, 1))
        self.alpha = self.alpha.gather(0, labels.view(-1))  # here
        loss = -torch.mul(torch.pow((1 - preds_softmax), self.gamma), preds_logsoft)
        loss = torch.mul(self.alpha, loss.t())  # here

        if self.size_average:
            loss = loss.mean()
        else:
            loss = loss.sum()
        return loss


def make_parts(n, seed):
    rng = np.random.RandomState(seed)
    labels = rng.choice(4, size=n, p=[0.94, 0.02, 0.02, 0.02])
    centers = np.array([[0, 0, 0, 0, 0], [1.6, 0, 0, 0.6, 0], [0, 1.6, 0, 0, 0.6],
                        [0, 0, 1.6, -0.6, 0]])
    x = centers[labels] + rng.randn(n, 5)
    return TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(labels))


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(5, 32)
        self.fc2 = nn.Linear(32, 4)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


def recalls(net, data):
    net.eval()
    with torch.no_grad():
        x, y = data.tensors
        pred = net(x).argmax(1)
        return [(pred[y == c] == c).float().mean().item() for c in range(4)]


def main():
    train_set, test_set = make_parts(4000, 0), make_parts(4000, 1)
    loader = DataLoader(train_set, batch_size=64, shuffle=True, drop_last=True)
    net = Net()
    criterion = focal_loss(alpha=[0.03, 1.0, 1.0, 1.0], gamma=2, num_classes=4)
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(15):
        net.train()
        running_loss = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(net(x), y)
            loss.backward()
            optimizer.step()
            running_loss += loss.item()
        if epoch % 5 == 4:
            r = recalls(net, test_set)
            print("epoch %d loss %.4f recall of the classes %s" % (
                epoch, running_loss / len(loader), ["%.2f" % v for v in r]))
    print("balanced accuracy: %.3f" % np.mean(recalls(net, test_set)))


if __name__ == "__main__":
    main()
