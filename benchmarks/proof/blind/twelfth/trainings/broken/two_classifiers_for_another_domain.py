r"""Domain adaptation of digits by the discrepancy of two classifiers, trained in three steps.

Source: https://github.com/mil-tokyo/MCD_DA/issues/12
Fault: the test uses F.nll_loss on the raw outputs of the classifier, although it needs
    log-probabilities, so the reported test loss is a meaningless negative number.
Cause: nll.{0,140}(log|softmax|raw|logit|negative|probab|score)|(log.?softmax|log.?probabilit\w*
    |raw (scores?|outputs?)|logits).{0,140}nll|(without|missing|no|lacks) (a )?log.?softmax
Place: nll_loss|test_loss|test|C1|output1
"""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

parser = argparse.ArgumentParser(description="MCD small")
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--lr", type=float, default=0.001)
parser.add_argument("--max_epoch", type=int, default=4)
parser.add_argument("--num_k", type=int, default=2, help="steps of the generator")
args = parser.parse_args()
torch.manual_seed(1)
np.random.seed(1)


def load_digits(n, seed, target=False):
    g = torch.Generator().manual_seed(77)
    protos = torch.rand(10, 1, 12, 12, generator=g)
    protos = F.avg_pool2d(F.pad(protos, (1, 1, 1, 1)), 3, 1)
    protos = (protos - protos.mean()) / protos.std()
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(10, (n,), generator=g)
    x = protos[y] + 0.6 * torch.randn(n, 1, 12, 12, generator=g)
    if target:
        x = 0.6 * torch.roll(x, 1, 3) + 0.5
    return x, y


class Feature(nn.Module):
    def __init__(self):
        super(Feature, self).__init__()
        self.conv1 = nn.Conv2d(1, 16, kernel_size=3, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 24, kernel_size=3, padding=1)
        self.bn2 = nn.BatchNorm2d(24)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        return x.view(x.size(0), 216)


class Predictor(nn.Module):
    def __init__(self, prob=0.5):
        super(Predictor, self).__init__()
        self.fc1 = nn.Linear(216, 64)
        self.bn1_fc = nn.BatchNorm1d(64)
        self.fc2 = nn.Linear(64, 10)
        self.prob = prob

    def forward(self, x):
        x = F.dropout(x, training=self.training, p=self.prob)
        x = F.relu(self.bn1_fc(self.fc1(x)))
        return self.fc2(x)


class Solver(object):
    def __init__(self, args):
        self.args = args
        self.source = load_digits(800, 1)
        self.target = load_digits(800, 2, target=True)
        self.target_test = load_digits(500, 3, target=True)
        self.G, self.C1, self.C2 = Feature(), Predictor(), Predictor()
        self.opt_g = optim.Adam(self.G.parameters(), lr=args.lr, weight_decay=0.0005)
        self.opt_c1 = optim.Adam(self.C1.parameters(), lr=args.lr, weight_decay=0.0005)
        self.opt_c2 = optim.Adam(self.C2.parameters(), lr=args.lr, weight_decay=0.0005)

    def reset_grad(self):
        self.opt_g.zero_grad()
        self.opt_c1.zero_grad()
        self.opt_c2.zero_grad()

    def discrepancy(self, out1, out2):
        return torch.mean(torch.abs(F.softmax(out1, dim=1) - F.softmax(out2, dim=1)))

    def train(self, epoch):
        criterion = nn.CrossEntropyLoss()
        self.G.train()
        self.C1.train()
        self.C2.train()
        ps, pt = torch.randperm(800), torch.randperm(800)
        bs = self.args.batch_size
        for i in range(800 // bs):
            img_s, label_s = self.source[0][ps[i * bs:(i + 1) * bs]], \
                self.source[1][ps[i * bs:(i + 1) * bs]]
            img_t = self.target[0][pt[i * bs:(i + 1) * bs]]

            self.reset_grad()
            feat_s = self.G(img_s)
            loss_s1 = criterion(self.C1(feat_s), label_s)
            loss_s2 = criterion(self.C2(feat_s), label_s)
            (loss_s1 + loss_s2).backward()
            self.opt_g.step()
            self.opt_c1.step()
            self.opt_c2.step()

            self.reset_grad()
            feat_s, feat_t = self.G(img_s), self.G(img_t)
            loss_s = criterion(self.C1(feat_s), label_s) + criterion(self.C2(feat_s), label_s)
            loss_dis = self.discrepancy(self.C1(feat_t), self.C2(feat_t))
            (loss_s - loss_dis).backward()
            self.opt_c1.step()
            self.opt_c2.step()

            for _ in range(self.args.num_k):
                self.reset_grad()
                feat_t = self.G(img_t)
                loss_dis = self.discrepancy(self.C1(feat_t), self.C2(feat_t))
                loss_dis.backward()
                self.opt_g.step()
        print("Train Epoch: {}\tLoss1: {:.6f}\t Loss2: {:.6f}\t  Discrepancy: {:.6f}".format(
            epoch, loss_s1.item(), loss_s2.item(), loss_dis.item()))

    def test(self, epoch):
        self.G.eval()
        self.C1.eval()
        self.C2.eval()
        test_loss = 0
        correct1, correct2, correct3 = 0, 0, 0
        size = 0
        with torch.no_grad():
            for img, label in zip(self.target_test[0].split(100), self.target_test[1].split(100)):
                feat = self.G(img)
                output1 = self.C1(feat)
                output2 = self.C2(feat)
                test_loss += F.nll_loss(output1, label, reduction="sum").item()  # here
                correct1 += output1.argmax(1).eq(label).sum().item()
                correct2 += output2.argmax(1).eq(label).sum().item()
                correct3 += (output1 + output2).argmax(1).eq(label).sum().item()
                size += len(label)
        test_loss = test_loss / size
        print("Test set: Average loss: {:.4f}, Accuracy C1: {}/{} Accuracy C2: {}/{} "
              "Accuracy Ensemble: {}/{}".format(test_loss, correct1, size, correct2, size,
                                                correct3, size))


if __name__ == "__main__":
    solver = Solver(args)
    for t in range(args.max_epoch):
        solver.train(t)
        solver.test(t)
