r"""Search over the layers, the dropout and the optimizer of a small classifier, trial by trial.

Source: https://github.com/optuna/optuna/pull/1725
Fault: model.train() is called once before the epochs while the evaluation at the end of each epoch
    sets model.eval(), so from the second epoch on the net is trained without its dropout.
Cause: (train|fit|optimi[sz]|step|epoch).{0,120}(eval(uation)? mode|in eval|\.eval\(|eval\(\))
    |(eval(uation)? mode|in eval|\.eval\(|eval\(\)).{0,120}(train|epoch|never|not|back|left|stays
    |remains|rest)
    |dropout.{0,120}(off|inactive|not active|disabled|never|no effect|idle|switched|out of)
    |(train mode|\.train\(|train\(\)).{0,80}(once|only|before|outside|never|not|missing|back)
Place: train|eval|objective|model|Dropout|dropout
"""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

DEVICE = torch.device("cpu")
BATCHSIZE = 32
CLASSES = 5
EPOCHS = 25
FEATURES = 60


class Trial:
    def __init__(self, number, rng):
        self.number = number
        self.rng = rng
        self.params = {}
        self.history = []

    def suggest_int(self, name, low, high):
        self.params[name] = self.rng.randint(low, high)
        return self.params[name]

    def suggest_float(self, name, low, high):
        self.params[name] = self.rng.uniform(low, high)
        return self.params[name]

    def suggest_categorical(self, name, choices):
        self.params[name] = self.rng.choice(choices)
        return self.params[name]

    def report(self, value, step):
        self.history.append((step, value))


class Study:
    def __init__(self, direction, seed):
        self.direction = direction
        self.rng = random.Random(seed)
        self.trials = []

    def optimize(self, objective, n_trials):
        for number in range(n_trials):
            trial = Trial(number, self.rng)
            trial.value = objective(trial)
            self.trials.append(trial)
            print("Trial {} finished with value: {:.4f} and parameters: {}".format(
                number, trial.value, trial.params))

    @property
    def best_trial(self):
        return max(self.trials, key=lambda t: t.value)


def define_model(trial):
    n_layers = trial.suggest_int("n_layers", 1, 2)
    layers = []
    in_features = FEATURES
    for i in range(n_layers):
        out_features = trial.suggest_int("n_units_l{}".format(i), 64, 128)
        layers.append(nn.Linear(in_features, out_features))
        layers.append(nn.ReLU())
        p = trial.suggest_float("dropout_l{}".format(i), 0.4, 0.6)
        layers.append(nn.Dropout(p))
        in_features = out_features
    layers.append(nn.Linear(in_features, CLASSES))
    layers.append(nn.LogSoftmax(dim=1))
    return nn.Sequential(*layers)


def get_data():
    g = torch.Generator().manual_seed(8)
    protos = torch.randn(CLASSES, FEATURES, generator=g)

    def make(n, flip):
        y = torch.randint(0, CLASSES, (n,), generator=g)
        x = protos[y] + 2.2 * torch.randn(n, FEATURES, generator=g)
        wrong = torch.rand(n, generator=g) < flip
        y = torch.where(wrong, torch.randint(0, CLASSES, (n,), generator=g), y)
        return TensorDataset(x, y)

    train_loader = DataLoader(make(320, 0.15), batch_size=BATCHSIZE, shuffle=True)
    valid_loader = DataLoader(make(640, 0.0), batch_size=128, shuffle=False)
    return train_loader, valid_loader


def objective(trial):
    torch.manual_seed(trial.number)
    model = define_model(trial).to(DEVICE)

    optimizer_name = trial.suggest_categorical("optimizer", ["Adam", "RMSprop"])
    lr = trial.suggest_float("lr", 1e-3, 3e-3)
    optimizer = getattr(optim, optimizer_name)(model.parameters(), lr=lr)

    train_loader, valid_loader = get_data()

    model.train()  # here
    for epoch in range(EPOCHS):
        train_loss = 0.0
        for batch_idx, (data, target) in enumerate(train_loader):
            data, target = data.view(data.size(0), -1).to(DEVICE), target.to(DEVICE)
            optimizer.zero_grad()
            output = model(data)
            loss = F.nll_loss(output, target)
            loss.backward()
            optimizer.step()
            train_loss += loss.item()

        model.eval()
        correct = 0
        valid_loss = 0.0
        with torch.no_grad():
            for batch_idx, (data, target) in enumerate(valid_loader):
                data, target = data.view(data.size(0), -1).to(DEVICE), target.to(DEVICE)
                output = model(data)
                valid_loss += F.nll_loss(output, target, reduction='sum').item()
                pred = output.argmax(dim=1, keepdim=True)
                correct += pred.eq(target.view_as(pred)).sum().item()
        accuracy = correct / len(valid_loader.dataset)
        trial.report(accuracy, epoch)
        if epoch % 6 == 0 or epoch == EPOCHS - 1:
            print("  epoch {:2d} train loss {:.4f} valid loss {:.4f} accuracy {:.4f}".format(
                epoch, train_loss / len(train_loader), valid_loss / len(valid_loader.dataset),
                accuracy))

    return accuracy


if __name__ == "__main__":
    study = Study(direction="maximize", seed=5)
    study.optimize(objective, n_trials=4)

    print("Number of finished trials: ", len(study.trials))
    print("Best trial:")
    trial = study.best_trial
    print("  Value: ", trial.value)
    print("  Params: ")
    for key, value in trial.params.items():
        print("    {}: {}".format(key, value))
