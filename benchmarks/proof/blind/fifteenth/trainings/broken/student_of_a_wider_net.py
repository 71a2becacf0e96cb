r"""Small student net distilled from a bigger teacher whose outputs are computed once.

Source: https://github.com/haitongli/knowledge-distillation-pytorch/pull/16
Fault: the outputs of the teacher are fetched once over a shuffled loader and then taken by batch
    number, while the loader shuffles anew in each epoch, so a student batch is compared with the
    teacher's outputs of other images.
Cause: teacher.{0,120}(order|shuffl|other (images|samples|batch|examples|inputs)|different (images
    |samples|batch|examples|inputs)|mismatch|misalign|not (the )?same|do(es)? not (belong|match
    |correspond)|stale|wrong (batch|sample|image))
    |shuffl.{0,120}(teacher|cached|precomputed|stored|soft target|outputs)
    |(cached|precomputed|stored|saved).{0,80}(outputs|logits|targets|predictions).{0,80}(order
    |shuffl|mismatch|misalign|match|correspond|belong)
    |(soft|distillation) (targets?|labels?).{0,80}(order|shuffl|other|mismatch|misalign|unrelated
    |belong|correspond)
Place: teacher_outputs|train_dataloader|train_dl|output_teacher_batch|shuffle|loss_fn_kd
"""
import argparse
import logging
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument('--alpha', type=float, default=0.9)
parser.add_argument('--temperature', type=float, default=4.0)
parser.add_argument('--num_epochs', type=int, default=10)
parser.add_argument('--batch_size', type=int, default=64)
parser.add_argument('--learning_rate', type=float, default=1e-3)


class RunningAverage():
    def __init__(self):
        self.steps = 0
        self.total = 0

    def update(self, val):
        self.total += val
        self.steps += 1

    def __call__(self):
        return self.total / float(self.steps)


class Net(nn.Module):
    def __init__(self, num_channels=6):
        super(Net, self).__init__()
        self.num_channels = num_channels
        self.conv1 = nn.Conv2d(3, self.num_channels, 3, stride=1, padding=1)
        self.bn1 = nn.BatchNorm2d(self.num_channels)
        self.conv2 = nn.Conv2d(self.num_channels, self.num_channels * 2, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(self.num_channels * 2)
        self.fc1 = nn.Linear(4 * 4 * self.num_channels * 2, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, s):
        s = F.relu(F.max_pool2d(self.bn1(self.conv1(s)), 2))
        s = F.relu(F.max_pool2d(self.bn2(self.conv2(s)), 2))
        s = s.view(-1, 4 * 4 * self.num_channels * 2)
        s = F.relu(self.fc1(s))
        return self.fc2(s)


def loss_fn(outputs, labels):
    return nn.CrossEntropyLoss()(outputs, labels)


def loss_fn_kd(outputs, labels, teacher_outputs, params):
    alpha = params.alpha
    T = params.temperature
    KD_loss = nn.KLDivLoss(reduction='batchmean')(F.log_softmax(outputs / T, dim=1),
                                                  F.softmax(teacher_outputs / T, dim=1))
    KD_loss = KD_loss * (alpha * T * T) + F.cross_entropy(outputs, labels) * (1. - alpha)
    return KD_loss


def accuracy(outputs, labels):
    outputs = np.argmax(outputs, axis=1)
    return np.sum(outputs == labels) / float(labels.size)


def fetch_dataloader(params, seed=0):
    g = torch.Generator().manual_seed(seed)
    protos = torch.randn(10, 3, 16, 16, generator=g)
    protos = F.avg_pool2d(protos, 5, 1, 2)

    def split(n):
        y = torch.randint(0, 10, (n,), generator=g)
        x = protos[y] + 0.55 * torch.randn(n, 3, 16, 16, generator=g)
        return TensorDataset(x, y)

    train_dl = DataLoader(split(1536), batch_size=params.batch_size, shuffle=True)  # here
    dev_dl = DataLoader(split(512), batch_size=params.batch_size, shuffle=False)
    return train_dl, dev_dl


def train(model, optimizer, dataloader):
    model.train()
    for train_batch, labels_batch in dataloader:
        loss = loss_fn(model(train_batch), labels_batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def fetch_teacher_outputs(teacher_model, dataloader, params):
    teacher_model.eval()
    teacher_outputs = []
    with torch.no_grad():
        for i, (data_batch, labels_batch) in enumerate(dataloader):
            output_teacher_batch = teacher_model(data_batch).data.cpu().numpy()
            teacher_outputs.append(output_teacher_batch)
    return teacher_outputs


def train_kd(model, teacher_outputs, optimizer, loss_fn_kd, dataloader, params):
    model.train()
    loss_avg = RunningAverage()
    summ = []
    for i, (train_batch, labels_batch) in enumerate(dataloader):
        output_batch = model(train_batch)
        output_teacher_batch = torch.from_numpy(teacher_outputs[i])
        loss = loss_fn_kd(output_batch, labels_batch, output_teacher_batch, params)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        summ.append(accuracy(output_batch.data.numpy(), labels_batch.numpy()))
        loss_avg.update(loss.item())
    logging.info("- Train metrics: accuracy: {:05.3f} ; loss: {:05.3f}".format(
        np.mean(summ), loss_avg()))


def evaluate(model, dataloader):
    model.eval()
    summ = []
    with torch.no_grad():
        for data_batch, labels_batch in dataloader:
            summ.append(accuracy(model(data_batch).numpy(), labels_batch.numpy()))
    return np.mean(summ)


def train_and_evaluate_kd(model, teacher_model, train_dataloader, val_dataloader, optimizer,
                          params):
    best_val_acc = 0.0
    teacher_model.eval()
    logging.info("teacher accuracy: {:05.3f}".format(evaluate(teacher_model, val_dataloader)))
    start = time.time()
    teacher_outputs = fetch_teacher_outputs(teacher_model, train_dataloader, params)
    logging.info("- Finished computing teacher outputs after {:.1f} secs..".format(
        time.time() - start))
    for epoch in range(params.num_epochs):
        logging.info("Epoch {}/{}".format(epoch + 1, params.num_epochs))
        train_kd(model, teacher_outputs, optimizer, loss_fn_kd, train_dataloader, params)
        val_acc = evaluate(model, val_dataloader)
        logging.info("- Eval accuracy: {:05.3f}".format(val_acc))
        best_val_acc = max(best_val_acc, val_acc)
    logging.info("best accuracy {:05.3f}".format(best_val_acc))


if __name__ == '__main__':
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(230)
    train_dl, dev_dl = fetch_dataloader(args)

    logging.info("Training the teacher...")
    teacher_model = Net(num_channels=12)
    teacher_opt = optim.Adam(teacher_model.parameters(), lr=2e-3)
    for _ in range(6):
        train(teacher_model, teacher_opt, train_dl)

    logging.info("Experiment - student with soft targets")
    model = Net(num_channels=4)
    optimizer = optim.Adam(model.parameters(), lr=args.learning_rate)
    train_and_evaluate_kd(model, teacher_model, train_dl, dev_dl, optimizer, args)
