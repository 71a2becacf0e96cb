"""Mistakes that code shows as it is written, each beside code that is meant so."""

import textwrap

import pytest
import torch
from torch import nn

import hookcli
from hookcli.engine.probes.code import user_code
from hookcli.engine.probes.code.mistakes.catalogue import SEARCHES, mistakes_of_text
from hookcli.rules.patterns.code_mistakes import _SENTENCES

# For each mistake: code that has it, once, and code that looks like it and is right.
CODE = {
    "state_not_passed": (
        "for x in steps:\n    output, h = self.rnn(x, hidden)\n    outputs += [output]",
        "for x in steps:\n    output, hidden = self.rnn(x, hidden)\n"
        "for x in steps:\n    output, h = self.rnn(x, hidden)\n    hidden = h\n"
        "for x in steps:\n    output, h = self.rnn(x, hidden)\n    beams.append(h)\n"
        "for x in steps:\n    output, weights = self.attention(x, memory)",
    ),
    "unread_sum": (
        "def forward(self, x):\n    y = self.a(x)\n    if self.short:\n        x = y + shortcut\n"
        "    return self.b(y)",
        "def forward(self, x):\n    y = self.a(x)\n    x = y + x\n    return self.b(x)\n"
        "def forward(self, x):\n    for f in self.blocks:\n        y = f(x)\n        x = y + z\n"
        "    return y",
    ),
    "focal_side": (
        "loss = -torch.pow(1 - p, self.gamma) * torch.log(1 - p) * (1 - t)",
        "loss = -torch.pow(p, self.gamma) * torch.log(1 - p) * (1 - t)\n"
        "b = -((1 - pt) ** gamma) * pt.log()\nc = (1 - p) ** 2 * torch.log(1 - p)",
    ),
    "shifted_logsigmoid": (
        "loss = F.logsigmoid(1 - x)",
        "loss = F.logsigmoid(-x) + F.logsigmoid(a - b)",
    ),
    "rate_attribute": (
        "opt = torch.optim.SGD(net.parameters(), 0.1)\nopt.lr = 0.01",
        "opt = torch.optim.SGD(net.parameters(), 0.1)\nopt.param_groups[0]['lr'] = 0.01\n"
        "args.lr = 0.01\nopt.step_count = 0",
    ),
    "average_not_updated": (
        "ema = AveragedModel(net)\naccuracy(ema)",
        "ema = AveragedModel(net)\nema.update_parameters(net)\naccuracy(ema)",
    ),
    "average_statistics": (
        "net = nn.BatchNorm1d(3)\nswa_model = AveragedModel(net)\n"
        "swa_model.update_parameters(net)\nswa_model(x)",
        "net = nn.BatchNorm1d(3)\nswa_model = AveragedModel(net)\n"
        "swa_model.update_parameters(net)\nupdate_bn(loader, swa_model)",
    ),
    "init_after_norm": (
        "def __init__(self):\n    self.convs = nn.ModuleList([weight_norm(c) for c in convs])\n"
        "    self.convs.apply(init_weights)",
        "def __init__(self):\n    self.convs = nn.ModuleList(convs)\n"
        "    self.convs.apply(init_weights)\n    self.post = weight_norm(post)\n"
        "    self.post.apply(count)",
    ),
    "scale_in_buffer": (
        """
        class Norm(nn.Module):
            def __init__(self, n):
                self.register_buffer("weight", torch.ones(n))
            def forward(self, x):
                return x * self.weight
        """,
        """
        class FrozenNorm(nn.Module):
            def __init__(self, n):
                self.register_buffer("weight", torch.ones(n))
            def forward(self, x):
                return x * self.weight
        class Scaler(nn.Module):
            def __init__(self, n):
                self.register_buffer("scale", torch.ones(n))
                self.register_buffer("mean", torch.zeros(n))
            def fit(self, x):
                self.scale.copy_(x.std(0))
            def forward(self, x):
                return (x + self.mean) * self.scale
        """,
    ),
    "unscaled_drop": (
        """
        class DropPath(nn.Module):
            def forward(self, x):
                if not self.training:
                    return x
                keep = (torch.rand(len(x), 1) > self.p).float()
                return x * keep
        """,
        """
        class DropPath(nn.Module):
            def forward(self, x):
                if not self.training:
                    return x
                keep = (torch.rand(len(x), 1) > self.p).float()
                return x * keep / (1 - self.p)
        class Mask(nn.Module):
            def forward(self, x):
                return x * (torch.rand(len(x), 1) > self.p) if self.training else x
        """,
    ),
    "temperature_factor": (
        "def loss(a, b, temperature=0.07):\n    return a @ b.T * temperature",
        "def loss(a, b, temperature=0.07):\n    return a @ b.T / temperature\n"
        "def other(a, b, tau=20.0):\n    return a @ b.T * tau\n"
        "def last(x, temperature=0.1):\n    return F.cross_entropy(x, y) * temperature",
    ),
    "graphless_result": (
        "def forward(self, x):\n    force = torch.autograd.grad(e.sum(), x)[0]\n"
        "    return e, -force",
        "def forward(self, x):\n    force = torch.autograd.grad(e.sum(), x, create_graph=True)[0]\n"
        "    step = torch.autograd.grad(e.sum(), x)[0]\n    x = x - step\n    return e, -force",
    ),
    "frozen_embedding": (
        "self.embed = nn.Embedding.from_pretrained(vectors)",
        "self.embed = nn.Embedding.from_pretrained(vectors, freeze=True)\n"
        "b = nn.Embedding.from_pretrained(vectors, False)\nm = AutoModel.from_pretrained(name)",
    ),
    "whole_circle": (
        "angles = torch.linspace(0, 2 * math.pi, n)",
        "a = torch.linspace(0, 2 * math.pi, n + 1)[:-1]\nb = torch.linspace(0, math.pi, n)\n"
        "c = torch.linspace(0, 2 * math.pi, n + 1)",
    ),
    "lost_dimension": (
        "adj = adj / adj.sum(dim=1)",
        "a = adj / adj.sum(dim=1, keepdim=True)\nb = x - x.mean(0)\nc = w / w.sum(-1)\n"
        "d = adj / deg.sum(1)\ne = adj / adj.sum(1)[:, None]\nf = (adj.T / adj.sum(1)).T",
    ),
    "split_samples": (
        "mu, logvar = self.encoder(x).chunk(2)",
        "mu, logvar = self.encoder(x).chunk(2, dim=-1)\nfirst, second = batch.chunk(2)\n"
        "q, k, v = torch.chunk(y, 3, -1)",
    ),
    "padding_order": (
        "x = F.pad(x, (top, bottom, left, right))",
        "x = F.pad(x, (left, right, top, bottom))\nx = F.pad(x, (a, b, c, d))\nF.pad(x, (t, b))",
    ),
    "grid_order": (
        "grid = torch.stack([row, col], dim=-1)\nout = F.grid_sample(x, grid)",
        "grid = torch.stack([col, row], dim=-1)\npoints = torch.stack([y, x])\n"
        "out = F.grid_sample(x, grid)",
    ),
    "open_one_hot": (
        "def forward(self, x):\n    return F.one_hot(x)",
        "def forward(self, x):\n    return F.one_hot(x, 5) + F.one_hot(x, num_classes=5)\n"
        "def plot(y):\n    return F.one_hot(y)",
    ),
    "wrapped_target": (
        "def f(self, tgt):\n    return self.decoder(tgt.roll(1, 1))",
        "def f(self, tgt):\n    tgt = tgt.roll(1, 1)\n    tgt[:, 0] = start\n    return tgt\n"
        "def g(targets):\n    return targets.roll(-1, 1)\ndef h(x):\n    return x.roll(1, 0)",
    ),
    "equal_parts": (
        "def f(x, n):\n    a = x.repeat(1, n, 1)\n    b = x.repeat(1, n, 1)\n"
        "    return torch.cat([a, b], -1)",
        "def f(x, n):\n    a = x.repeat(1, n, 1)\n    b = x.repeat_interleave(n, 1)\n"
        "    return torch.cat([a, b], -1)\n"
        "def g(x, n):\n    low = x.repeat(n, 1)\n    low[i] -= 1\n    high = x.repeat(n, 1)\n"
        "    high[i] += 1\n    return torch.cat([low, high])",
    ),
    "exchanged_meshgrid": (
        "def f(h, w):\n    x = torch.linspace(-1, 1, w)\n    y = torch.linspace(-1, 1, h)\n"
        "    return torch.meshgrid(x, y, indexing='ij')",
        "def f(h, w):\n    x = torch.linspace(-1, 1, w)\n    y = torch.linspace(-1, 1, h)\n"
        "    return torch.meshgrid(x, y, indexing='xy')\n"
        "def g(h, w):\n    x = torch.arange(w)\n    y = torch.arange(h)\n"
        "    return torch.meshgrid(y, x, indexing='ij')\n"
        "def k(h, w):\n    x = torch.arange(w)\n    y = torch.arange(h)\n"
        "    a, b = torch.meshgrid(x, y)\n    return a.t(), b.t()",
    ),
    "used_up": (
        "params = net.parameters()\nopt = Adam(params)\nfor x in data:\n    penalty(params)",
        "params = list(net.parameters())\nopt = Adam(params)\nclip(params)",
    ),
    "hook_result": (
        "def keep(grad):\n    grad = grad * mask\nw.register_hook(keep)",
        "def keep(grad):\n    return grad * mask\nw.register_hook(keep)",
    ),
    "first_group": (
        "opt = SGD([{'params': a}, {'params': b}])\nopt.param_groups[0]['lr'] *= 0.1",
        "opt = SGD(net.parameters())\nopt.param_groups[0]['lr'] *= 0.1",
    ),
    "other_quantity": (
        "loss = F.gaussian_nll_loss(mean, y, std)",
        "loss = F.gaussian_nll_loss(mean, y, std.square())\nNormal(mean, std)\nGamma(shape, rate)",
    ),
    "uncalled_method": ("optimizer.zero_grad", "optimizer.zero_grad()\nstep = optimizer.step"),
    "lost_comparison": (
        "for p in model.parameters():\n    p.requires_grad == False",
        "frozen = p.requires_grad == False\nassert p.requires_grad == False",
    ),
    "lost_sum": (
        "def forward(self, x):\n    x + self.pe(x)\n    return x",
        "def forward(self, x):\n    x += self.pe(x)\n    return x\n1 + 2\ntask >> other",
    ),
    "or_of_types": (
        "isinstance(m, nn.Conv2d or nn.Linear)",
        "isinstance(m, (nn.Conv2d, nn.Linear)); isinstance(m, a) or isinstance(m, b)",
    ),
    "or_of_texts": (
        "if kind == 'relu' or 'gelu':\n    pass",
        "if kind == 'relu' or kind == 'gelu':\n    pass\nname = given or 'relu'",
    ),
    "misspelled": ("p.require_grad = False", "p.requires_grad = False"),
    "mode_method": (
        """
        class Net(nn.Module):
            def forward(self, x):
                if self.train:
                    x = x + 1
                return x
        """,
        """
        class Net(nn.Module):
            def __init__(self, train):
                self.train = train

            def forward(self, x):
                if self.train:
                    x = x + 1
                return self.train()
        """,
    ),
    "first_pass": (
        """
        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
                return x
        """,
        """
        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

        def first(self, names):
            for name in names:
                return name
        """,
    ),
    "overwritten_module": (
        """
        def __init__(self):
            for size in sizes:
                self.layer = nn.Linear(size, size)
        """,
        """
        def __init__(self):
            for size in sizes:
                self.layer = nn.Linear(size, size)
                layers.append(self.layer)
        """,
    ),
    "made_twice": (
        """
        def __init__(self):
            self.fc = nn.Linear(2, 2)
            self.fc = nn.Linear(2, 3)
        """,
        """
        def __init__(self):
            self.fc = nn.Linear(2, 2)
            self.fc = nn.Sequential(self.fc, nn.ReLU())
            self.conv = nn.Conv2d(2, 2, 1)
            self.init()
            self.conv = nn.Conv2d(2, 2, 1)
        """,
    ),
    "two_names": (
        """
        class Net(nn.Module):
            def __init__(self):
                layer = nn.Linear(2, 2)
                self.pose = layer
                self.whole = layer

            def forward(self, x):
                return self.pose(x), self.whole(x)
        """,
        """
        class Net(nn.Module):
            def __init__(self):
                shared = nn.Linear(2, 2)
                self.left = shared
                self.right = shared
                layer = nn.Linear(2, 2)
                self.encoder = layer
                self.backbone = layer

            def forward(self, x):
                return self.left(x), self.right(x), self.encoder(x)
        """,
    ),
    "unused_layer": (
        """
        class Net(nn.Module):
            def __init__(self):
                self.dropout = nn.Dropout(0.2)

            def forward(self, x):
                return x
        """,
        """
        class Net(nn.Module):
            def __init__(self):
                self.dropout = nn.Dropout(0.2)
                self.drop1 = nn.Dropout(0.2)

            def forward(self, x):
                return self.dropout(getattr(self, f"drop{1}")(x))
        """,
    ),
    "lost_random": (
        """
        class Wired(nn.Module):
            def __init__(self):
                order = torch.cat([torch.randperm(4) for _ in range(2)])
                self.order = order[:4].view(2, 2)

            def forward(self, x):
                return x[:, self.order]
        """,
        """
        class Wired(nn.Module):
            def __init__(self):
                order = torch.randperm(4)
                self.register_buffer("order", order)
                self.weight = nn.Parameter(torch.randn(4))
                self.unread = torch.randn(4)

            def forward(self, x):
                return x[:, self.order] * self.weight

        class Data:
            def __init__(self):
                self.x = torch.randn(4)

            def get(self):
                return self.x
        """,
    ),
    "unread_gradient": (
        """
        class Scores(torch.autograd.Function):
            @staticmethod
            def backward(ctx, grad):
                return ctx.saved_tensors[0]
        """,
        """
        class Scores(torch.autograd.Function):
            @staticmethod
            def backward(ctx, grad):
                return ctx.saved_tensors[0] * grad

        class Stop(Function):
            @staticmethod
            def backward(ctx, grad):
                return None, None
        """,
    ),
    "cut_fraction": (
        "strides = torch.tensor([height / x.shape[2] for x in maps], dtype=torch.int)",
        "strides = torch.tensor([height // x.shape[2] for x in maps], dtype=torch.int)\n"
        "share = torch.tensor([a / b])",
    ),
    "swapped_arguments": (
        "def iou(output, target):\n    pass\nloss = iou(target, output)",
        "def iou(output, target):\n    pass\nloss = iou(output, target) + iou(target, output)\n"
        "def gap(a, b):\n    pass\ngap(b, c)",
    ),
    "swapped_roles": (
        "def mape(output, target):\n    pass\nerror = mape(val_y, prediction)",
        "def mape(output, target):\n    pass\nerror = mape(prediction, val_y)\n"
        "def mse(output, target):\n    pass\nerror = mse(val_y, prediction)",
    ),
    "plain_for_log": (
        "def divergence(mean, logvar):\n    pass\nloss = divergence(mean, std)",
        "def divergence(mean, logvar):\n    pass\nloss = divergence(mean, log_var)\n"
        "def noise(std):\n    pass\nnoise(sigma)",
    ),
    "saved_method": (
        "torch.save({'model': model.state_dict}, path)",
        "torch.save({'model': model.state_dict()}, path)",
    ),
    "split_order": (
        "x_train, y_train, x_test, y_test = train_test_split(x, y)",
        "x_train, x_test, y_train, y_test = train_test_split(x, y)\n"
        "train, test = train_test_split(x)",
    ),
    "fit_to_tests": (
        "x_train = s.fit_transform(x_train)\nx_test = s.fit_transform(x_test)",
        "x_train = s.fit_transform(x_train)\nx_test = s.transform(x_test)\n"
        "y_test = other.fit_transform(y_test)",
    ),
    "mixed_splits": (
        "data = TensorDataset(test_images, train_labels[:500])",
        "data = TensorDataset(test_images, test_labels)\n"
        "for a, b in zip(train_losses, test_losses):\n    pass",
    ),
    "other_split": (
        "val_loader = DataLoader(train_set, batch_size=4)",
        "val_loader = DataLoader(val_set)\ntrain_eval_loader = DataLoader(train_set)\n"
        "test_loader = DataLoader(dataset)",
    ),
    "other_transform": (
        "test_set = CIFAR10(root, transform=train_transform)",
        "test_set = CIFAR10(root, transform=test_transform)",
    ),
    "separate_shuffles": (
        "random.shuffle(images)\nrandom.shuffle(labels)",
        "random.seed(3)\nrandom.shuffle(images)\nrandom.seed(3)\nrandom.shuffle(labels)\n"
        "random.shuffle(train)\nrandom.shuffle(test)",
    ),
    "before_shuffle": (
        "labels = [b for a, b in rows]\nrandom.shuffle(rows)\nnames = [a for a, b in rows]",
        "random.shuffle(rows)\nlabels = [b for a, b in rows]\nnames = [a for a, b in rows]",
    ),
    "unpacked_order": (
        "memory.append((state, action, reward, done))\n"
        "state, action, done, reward = zip(*random.sample(memory, 4))",
        "memory.append((state, action, reward, done))\n"
        "state, action, reward, done = zip(*random.sample(memory, 4))",
    ),
    "returned_order": (
        "def load():\n    return x, y, mask\nx, mask, y = load()",
        "def load():\n    return x, y, mask\nx, y, mask = load()\na, b, c = load()",
    ),
    "class_numbers": (
        "NAMES = ['a', 'b']\nLABELS = {'b': 0, 'a': 1}",
        "NAMES = ['a', 'b']\nLABELS = {'a': 0, 'b': 1}\nWEIGHTS = {'b': 0.5, 'a': 1}",
    ),
    "joined_dimensions": (
        """
        def forward(self, x):
            b, c, t, h, w = x.shape
            return self.q(x).reshape(b * t, c, h * w)
        """,
        """
        def forward(self, x):
            b, c, t, h, w = x.shape
            x = x.transpose(1, 2)
            return x.reshape(b * t, c, h * w)

        def other(self, x):
            b, c, h, w = x.shape
            return x.reshape(b * c, h * w), x.permute(0, 2, 3, 1).reshape(b * h * w, c)
        """,
    ),
    "crossed_sizes": (
        "def scaled(x, y):\n    return x / HEIGHT, y / WIDTH",
        "def scaled(x, y):\n    return x / WIDTH, y / HEIGHT",
    ),
    "overwritten_total": (
        """
        def test(loader):
            loss = acc = 0
            for x, y in loader:
                loss = criterion(model(x), y)
                loss += loss.item() * len(y)
            return loss / len(rows)
        """,
        """
        def test(loader):
            total = acc = 0
            for x, y in loader:
                loss = criterion(model(x), y)
                loss += penalty(model)
                total += loss.item() * len(y)
            return total / len(rows)
        """,
    ),
    "last_batch": (
        """
        def run(loader):
            totals = []
            for x, y in loader:
                acc = accuracy(model(x), y)
                totals.append(torch.tensor([loss.item(), acc.item()]))
            mean = torch.stack(totals).mean(0)
            return mean[0].item(), acc.item()
        """,
        """
        def run(loader):
            total = 0
            for x, y in loader:
                acc = accuracy(model(x), y)
                total += acc.item()
            acc = total / len(loader)
            return loss, acc
        """,
    ),
    "counter_not_reset": (
        """
        if self.best is None or value < self.best:
            self.best = value
        else:
            self.bad += 1
        stop = self.bad >= self.patience
        """,
        """
        if self.best is None or value < self.best:
            self.best = value
            self.bad = 0
        else:
            self.bad += 1
        stop = self.bad >= self.patience
        """,
    ),
    "best_not_updated": (
        """
        best_score = 0
        for epoch in range(9):
            score = evaluate(model)
            is_best = score > best_score
            save(model, is_best)
        """,
        """
        best_score, best_loss, best_known = 0, float("inf"), 0.9
        for epoch in range(9):
            score, loss = evaluate(model)
            is_best = score > best_score
            best_score = max(score, best_score)
            if loss < best_loss:
                best_loss = loss
            if score > best_known:
                break
        """,
    ),
    "loaders_apart": (
        """
        image_loader = DataLoader(images, batch_size=4, shuffle=True)
        label_loader = DataLoader(labels, batch_size=4, shuffle=True)
        """,
        """
        image_loader = DataLoader(images, batch_size=4)
        label_loader = DataLoader(labels, batch_size=4)
        source_loader = DataLoader(source, batch_size=4, shuffle=True)
        target_loader = DataLoader(target, batch_size=4, shuffle=True)
        labeled_loader = DataLoader(few, batch_size=4, shuffle=True)
        unlabeled_loader = DataLoader(many, batch_size=4, shuffle=True)
        """,
    ),
    "uncalled_model": (
        """
        def evaluate(model, criterion, loader):
            model.eval()
            for inputs, targets in loader:
                total += criterion(inputs, targets)
            return total
        """,
        """
        def evaluate(model, criterion, loader):
            model.eval()
            for inputs, targets in loader:
                total += criterion(model(inputs), targets)
            return total
        def score(model, loader):
            model.eval()
            for inputs, targets in loader:
                total += loss_of(model, inputs, targets)
            return total
        def reset(model, losses):
            model.eval()
            for one in losses:
                one.loss()
        """,
    ),
    "loss_by_samples": (
        """
        criterion = nn.MSELoss()
        def run(model, loader):
            total = 0.0
            for x, y in loader:
                loss = criterion(model(x), y)
                total += loss.item()
            return total / len(loader.dataset)
        """,
        """
        criterion = nn.MSELoss()
        summed = nn.MSELoss(reduction="sum")
        def run(model, loader):
            total, other = 0.0, 0.0
            for x, y in loader:
                loss = criterion(model(x), y)
                total += loss.item() * len(x)
                loss = summed(model(x), y)
            return total / len(loader.dataset)
        def sums(model, loader):
            for x, y in loader:
                loss = F.nll_loss(model(x), y, reduction="sum")
                total += loss.item()
            return total / len(loader.dataset)
        def mean(model, loader):
            for x, y in loader:
                loss = criterion(model(x), y)
                total += loss.item()
            return total / len(loader)
        """,
    ),
    "metric_not_reset": (
        """
        for epoch in range(9):
            for x, y in loader:
                accuracy.update(model(x), y)
            print(accuracy.compute())
        """,
        """
        for epoch in range(9):
            accuracy.reset()
            made = Accuracy()
            for x, y in loader:
                accuracy.update(model(x), y)
                made.update(model(x), y)
                each.update(model(x), y)
                each.compute()
            print(accuracy.compute(), made.compute())
        for x, y in loader:
            once.update(model(x), y)
        print(once.compute())
        """,
    ),
    "logits_at_half": (
        """
        criterion = nn.BCEWithLogitsLoss()
        output = model(x)
        loss = criterion(output, y)
        hits = (model(x) > 0.5).float()
        """,
        """
        criterion = nn.BCEWithLogitsLoss()
        output = model(x)
        loss = criterion(output, y)
        hits = (output > 0).float() + (torch.sigmoid(model(x)) > 0.5).float()
        shares = torch.sigmoid(output)
        hits = shares > 0.5
        labels = (y > 0.5).float()
        other = nn.BCELoss()(classifier(x), y)
        hits = classifier(x) > 0.5
        """,
    ),
    "penalty_without_abs": (
        """
        def penalty(model):
            return sum(p.sum() for p in model.parameters())
        """,
        """
        def penalty(model):
            return sum(p.abs().sum() for p in model.parameters())
        print(sum(p.sum() for p in model.parameters()))
        checksum = sum(p.sum() for p in model.parameters())
        """,
    ),
    "one_for_folds": (
        """
        model = make()
        for fold, (train, test) in enumerate(kfold.split(x)):
            fit(model, x[train])
            scores.append(evaluate(model, x[test]))
        """,
        """
        model = make()
        for fold, (train, test) in enumerate(kfold.split(x)):
            model = make()
            fit(model, x[train])
        for fold in folds:
            net.load_state_dict(first)
            fit(net, fold)
        for fold in folds:
            scores.append(evaluate(model, fold))
        """,
    ),
    "batch_scores": (
        """
        for x, y in val_loader:
            total += f1_score(y, model(x).argmax(1))
        """,
        """
        for train, test in folds.split(x):
            total += f1_score(y[test], model(x[test]).argmax(1))
        for x, y in val_loader:
            total += (model(x).argmax(1) == y).sum()
        score = f1_score(labels, predictions)
        """,
    ),
    "hard_scores": (
        """
        predictions = (probabilities > 0.5).int()
        area = roc_auc_score(labels, predictions)
        """,
        """
        predictions = (probabilities > 0.5).int()
        score = f1_score(labels, predictions)
        area = roc_auc_score((grades > 3).int(), probabilities)
        curve = roc_curve(y_true=labels, y_score=model(x).sigmoid().numpy())
        """,
    ),
    "repeated_split": (
        """
        x, y = SMOTE().fit_resample(x, y)
        x_train, x_test, y_train, y_test = train_test_split(x, y)
        """,
        """
        x_train, x_test, y_train, y_test = train_test_split(x, y)
        x_train, y_train = SMOTE().fit_resample(x_train, y_train)
        """,
    ),
    "shared_transform": (
        """
        train_set, val_set = random_split(data, [90, 10])
        val_set.dataset.transform = plain
        """,
        """
        train_set, val_set = random_split(data, [90, 10])
        val_set.dataset = copy.copy(data)
        val_set.dataset.transform = plain
        first, second = Subset(data, range(90)), None
        other = Subset(plain_data, range(90, 100))
        other.dataset.transform = plain
        """,
    ),
    "other_loader": (
        """
        def run():
            for x, y in val_loader:
                total += criterion(x, y).item()
            return total / len(train_loader)
        """,
        """
        def run():
            for x, y in val_loader:
                total += criterion(x, y).item()
            return total / len(val_loader), total / len(val_set)
        """,
    ),
    "divided_twice": (
        "def loss_of(a):\n    speed_loss = a.sum() / count\n    return b + speed_loss / count",
        "def loss_of(a):\n    speed_loss = a.sum() / count\n    return b + speed_loss / 2",
    ),
    "divided_mean": (
        """
        def step(x, y):
            loss = F.mse_loss(model(x), y)
            loss = loss / len(x)
        """,
        """
        def step(x, y):
            loss = F.mse_loss(model(x), y)
            return loss / len(loader)
        """,
    ),
    "mean_of_one": (
        "m = rewards[:, :1].mean(1, keepdim=True)",
        "m = rewards[:, :1].mean(0)\nm = rewards[:, :2].mean(1)",
    ),
    "equal_worker_seeds": (
        """
        def init(worker_id):
            np.random.seed(SEED)

        loader = DataLoader(data, worker_init_fn=init)
        """,
        """
        def init(worker_id):
            np.random.seed(SEED + worker_id)

        loader = DataLoader(data, worker_init_fn=init)
        """,
    ),
    "state_left_behind": (
        "torch.save({'model': a.state_dict(), 'optimizer': b.state_dict()}, file)\n"
        "model.load_state_dict(torch.load(file)['model'])",
        "torch.save({'model': a.state_dict(), 'optimizer': b.state_dict()}, file)\n"
        "model.load_state_dict(torch.load(file)['model'])\n"
        "b.load_state_dict(torch.load(file)['optimizer'])",
    ),
    "turned_alone": (
        """
        def __getitem__(self, index):
            image, box = self.rows[index]
            if random.random() < 0.5:
                image = image.flip(-1)
            return image, box
        """,
        """
        def __getitem__(self, index):
            image, box = self.rows[index]
            if random.random() < 0.5:
                image = image.flip(-1)
                box[0] = 1 - box[0]
            return image, box
        """,
    ),
    "temperature": (
        """
        def loss(self, a, b):
            logits = a @ b.T / self.temperature
            return ce(logits, F.softmax(b @ b.T * self.temperature, -1))
        """,
        """
        def loss(self, a, b):
            logits = F.log_softmax(a / T, 1)
            return ce(logits, F.softmax(b / T, -1)) * T * T
        """,
    ),
    "turned_apart": (
        """
        def tfm(x):
            return x.flip(-1) if torch.rand(1) < 0.5 else x

        def batch(rows):
            a = torch.stack([tfm(pictures[row]) for row in rows])
            b = torch.stack([tfm(masks[row]) for row in rows])
            return a, b
        """,
        """
        def tfm(x):
            return x.flip(-1) if torch.rand(1) < 0.5 else x

        def views(rows):
            a = torch.stack([tfm(pictures[row]) for row in rows])
            b = torch.stack([tfm(pictures[row]) for row in rows])
            return a, b
        """,
    ),
    "own_range": (
        """
        def normalize(series):
            return (series - series.min()) / (series.max() - series.min())

        a = normalize(train)
        b = normalize(test)
        """,
        """
        def normalize(series, low, high):
            return (series - low) / (high - low)

        a = normalize(train, train.min(), train.max())
        b = normalize(test, train.min(), train.max())
        """,
    ),
    "state_before_schedule": (
        """
        def job(state):
            optimizer.load_state_dict(state)
            schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3)
        """,
        """
        def job(state):
            schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3)
            optimizer.load_state_dict(state)
        """,
    ),
    "changed_before_read": (
        "x.mul_(lam).add_(x.flip(0), alpha=1 - lam)",
        "x.mul_(lam).add_(y, alpha=1 - lam)\nx.mul_(a).add_(torch.randn_like(x))\n"
        "x = x.mul(lam).add(x.flip(0))",
    ),
    "separate_permutations": (
        """
        def mixed(rows):
            return rows[torch.randperm(len(rows))]

        def mixup(x, y):
            x2 = mixed(x)
            y2 = mixed(y)
            return x + x2, y + y2
        """,
        """
        def mixed(rows):
            return rows[torch.randperm(len(rows))]

        def pair(x, z):
            x2 = mixed(x)
            z2 = mixed(z)
            return x2, z2
        """,
    ),
    "no_self_loops": (
        """
        def normalise(adj):
            degree = adj.sum(1)
            return adj / degree.sqrt()[:, None] / degree.sqrt()
        """,
        """
        def normalise(adj):
            adj = adj + torch.eye(len(adj))
            degree = adj.sum(1)
            return adj / degree.sqrt()[:, None] / degree.sqrt()
        """,
    ),
    "swapped_states": (
        "out, (c, h) = self.lstm(x)",
        "out, (h, c) = self.lstm(x)\nout, (a, b) = f(x)",
    ),
    "swapped_values": (
        "out = self.attention(query, value, key)",
        "out = self.attention(query, key, value)\nout = self.attention(x, x, x)",
    ),
    "heads_first": (
        "q = self.q_proj(x).view(batch, self.heads, length, size)",
        "q = self.q_proj(x).view(batch, length, self.heads, size).transpose(1, 2)",
    ),
    "heads_in_front": (
        """
        def forward(self, x):
            q = self.q(x).view(b, t, self.heads, d).transpose(1, 2)
            out = attn @ v
            return out.reshape(b, t, c)
        """,
        """
        def forward(self, x):
            q = self.q(x).view(b, t, self.heads, d).transpose(1, 2)
            out = (attn @ v).transpose(1, 2)
            return out.reshape(b, t, c)
        """,
    ),
    "implicit_softmax": ("p = F.softmax(x)", "p = F.softmax(x, dim=1)\np = nn.Softmax(1)(x)"),
    "packed_by_time": (
        """
        class Net(nn.Module):
            def __init__(self):
                self.rnn = nn.LSTM(2, 2, batch_first=True)

            def forward(self, x, lengths):
                return self.rnn(pack_padded_sequence(x, lengths))
        """,
        """
        class Net(nn.Module):
            def __init__(self):
                self.rnn = nn.LSTM(2, 2, batch_first=True)

            def forward(self, x, lengths):
                return self.rnn(pack_padded_sequence(x, lengths, batch_first=True))
        """,
    ),
    "rising_frequencies": (
        "div = torch.exp(torch.arange(0, d, 2) * (math.log(10000.0) / d))\npe = x * div",
        "div = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))\npe = x * div\n"
        "big = torch.exp(torch.arange(0, d, 2) * (math.log(10000.0) / d))\npe = x / big",
    ),
    "blended_labels": (
        "label = F.interpolate(label[None].float(), size, mode='bilinear')",
        "label = F.interpolate(label[None].float(), size, mode='nearest')\n"
        "image = F.interpolate(image, size, mode='bilinear')",
    ),
    "not_turned_back": (
        "def forward(self, x):\n    a, _ = self.lstm1(x)\n    b, _ = self.lstm2(x.flip(1))\n"
        "    return torch.cat((a, b), 2)",
        "def forward(self, x):\n    a, _ = self.lstm1(x)\n    b, _ = self.lstm2(x.flip(1))\n"
        "    return torch.cat((a, b.flip(1)), 2)",
    ),
    "kept_from_eval": (
        """
        class Attention(nn.Module):
            def __init__(self):
                self.p = 0.1

            def forward(self, x):
                if not self.training:
                    self.p = 0.0
                return F.dropout(x, self.p)
        """,
        """
        class Attention(nn.Module):
            def __init__(self):
                self.p = 0.1

            def forward(self, x):
                p = self.p
                if not self.training:
                    p = 0.0
                return F.dropout(x, p)
        """,
    ),
    "init_of_another": (
        "def init(self, m):\n    if isinstance(m, nn.Linear):\n"
        "        nn.init.zeros_(self.layers[0].weight)",
        "def init(self, m):\n    if isinstance(m, nn.Linear):\n        nn.init.zeros_(m.weight)",
    ),
    "buffers_in_list": (
        """
        def __init__(self):
            self.anchors = []
            for i in range(3):
                self.register_buffer(f"anchor_{i}", make(i))
                self.anchors.append(getattr(self, f"anchor_{i}"))
        """,
        """
        def __init__(self):
            self.names = []
            for i in range(3):
                self.register_buffer(f"anchor_{i}", make(i))
                self.names.append(f"anchor_{i}")
        """,
    ),
    "wrong_rate": (
        "precision = tp / (tp + fn)",
        "precision = tp / (tp + fp)\nrecall = tp / (tp + fn)",
    ),
    "wrong_error": (
        "rmse = F.mse_loss(a, b)",
        "rmse = F.mse_loss(a, b).sqrt()\nmae = F.l1_loss(a, b)",
    ),
    "weight_by_frequency": (
        "class_weights = counts / counts.sum()",
        "class_weights = counts.sum() / counts\npos_weight = negatives / positives",
    ),
    "ratio_of_logs": ("ratio = logp - old_logp", "ratio = torch.exp(logp - old_logp)"),
    "rising_actor": (
        "actor_loss = self.critic(state, self.actor(state)).mean()",
        "actor_loss = -self.critic(state, self.actor(state)).mean()",
    ),
    "target_copied": (
        "self.q_net.load_state_dict(self.target_net.state_dict())",
        "self.target_net.load_state_dict(self.q_net.state_dict())",
    ),
    "exchanged_mixture": (
        "loss = lam * ce(out, y_b) + (1 - lam) * ce(out, y_a)",
        "loss = lam * ce(out, y_a) + (1 - lam) * ce(out, y_b)",
    ),
    "turned_distance": (
        "loss = F.relu(neg_dist - pos_dist + margin)",
        "loss = F.relu(pos_dist - neg_dist + margin)\nloss = F.relu(neg_sim - pos_sim + margin)",
    ),
    "target_entropy": (
        "self.target_entropy = env.action_space.shape[0]",
        "self.target_entropy = -env.action_space.shape[0]",
    ),
    "own_scale": (
        "x_train = (x_train - x_train.mean(0)) / x_train.std(0)\n"
        "x_test = (x_test - x_test.mean(0)) / x_test.std(0)",
        "mean, std = x_train.mean(0), x_train.std(0)\nx_train = (x_train - mean) / std\n"
        "x_test = (x_test - mean) / std",
    ),
    "scaled_alone": (
        "x_train = x_train / 255\nrun(x_train, x_test)",
        "x_train = x_train / 255\nx_test = x_test / 255",
    ),
    "earlier_rewards": (
        """
        def returns_of(rewards):
            total, found = 0, []
            for reward in rewards:
                total = reward + GAMMA * total
                found.append(total)
            return found
        """,
        """
        def returns_of(rewards):
            total, found = 0, []
            for reward in reversed(rewards):
                total = reward + GAMMA * total
                found.append(total)
            return found[::-1]
        """,
    ),
    "reversed_returns": (
        """
        def returns_of(rewards):
            total, found = 0, []
            for reward in rewards[::-1]:
                total = reward + gamma * total
                found.append(total)
            return torch.tensor(found)
        """,
        """
        def returns_of(rewards):
            total, found = 0, []
            for reward in rewards[::-1]:
                total = reward + gamma * total
                found.append(total)
            found.reverse()
            return torch.tensor(found)
        """,
    ),
    "rewards_alone": (
        """
        def discounted(rewards, gamma):
            return [r * gamma ** i for i, r in enumerate(rewards)]
        """,
        """
        def discounted(rewards, gamma):
            return sum(r * gamma ** i for i, r in enumerate(rewards))

        def weights(n, gamma):
            return [2 * gamma ** i for i in range(n)]
        """,
    ),
    "inverted_exploration": (
        """
        if random.random() < epsilon:
            action = q(state).argmax()
        else:
            action = random.randrange(4)
        """,
        """
        if random.random() < epsilon:
            action = random.randrange(4)
        else:
            action = q(state).argmax()
        if random.random() > eps:
            action = q(state).argmax()
        else:
            action = random.choice(actions)
        """,
    ),
    "value_of_end": (
        "target = reward + gamma * value * done",
        "target = reward + gamma * value * (1 - done)\n"
        "target = reward + gamma * value * not_done\n"
        "target = rewards + gamma * value * ~done",
    ),
    "floored_fraction": (
        "torch.exp(step * (-math.log(1e4) / d_model // 2))",
        "torch.exp(step * (-math.log(1e4) / (d_model // 2)))\nsize = width / 2 // 3",
    ),
    "variance_twice": ("v = x.var(2, keepdim=True).var(3)", "v = x.var((2, 3)).mean()"),
    "shifted_factor": ("x = x * (2.0 / 255.0 - 1.0)", "x = x * (2.0 / 255.0) - 1.0"),
    "limited_log": (
        "log_std = F.relu(self.head(x))",
        "log_std = self.head(x)\nstd = F.softplus(self.head(x))",
    ),
    "entropy_added": (
        "loss = pg_loss + coef * entropy.mean()\np = d.log_prob(a)",
        "loss = pg_loss - coef * entropy.mean()\np = d.log_prob(a)\n"
        "loss = ce_loss + coef * entropy.mean()",
    ),
    "squared_variance": (
        "std = (variance + eps) ** 2",
        "std = variance.sqrt()\nvariance = std ** 2",
    ),
    "batch_mean": (
        "q = value + adv - adv.mean()",
        "q = value + adv - adv.mean(1, keepdim=True)\nadv = adv - adv.mean()",
    ),
    "noise_variance": (
        "x = torch.sqrt(1 - beta) * x + beta * torch.randn_like(x)",
        "x = torch.sqrt(1 - beta) * x + torch.sqrt(beta) * torch.randn_like(x)",
    ),
    "no_tanh": (
        """
        def act(normal):
            a = normal.rsample()
            logp = normal.log_prob(a) - 2 * (math.log(2) - a - F.softplus(-2 * a))
            return a, logp
        """,
        """
        def act(normal):
            a = normal.rsample()
            logp = normal.log_prob(a) - 2 * (math.log(2) - a - F.softplus(-2 * a))
            return torch.tanh(a), logp
        """,
    ),
    "equal_waves": (
        "pe[:, 0::2] = torch.sin(x * div)\npe[:, 1::2] = torch.sin(x * div)",
        "pe[:, 0::2] = torch.sin(x * div)\npe[:, 1::2] = torch.cos(x * div)\n"
        "pe[0::4], pe[1::4] = torch.sin(x), torch.cos(x)",
    ),
    "no_shortcut": (
        """
        class ResidualBlock(nn.Module):
            def __init__(self):
                self.conv = nn.Conv2d(2, 2, 1)

            def forward(self, x):
                return F.relu(self.conv(x))
        """,
        """
        class ResidualBlock(nn.Module):
            def __init__(self):
                self.conv = nn.Conv2d(2, 2, 1)

            def forward(self, x):
                return x + F.relu(self.conv(x))

        class ResBlock(nn.Module):
            def __init__(self):
                self.body = Residual(nn.Conv2d(2, 2, 1))

            def forward(self, x):
                return apply_residual(self.body, x)
        """,
    ),
    "dice_factor": (
        """
        def dice(a, b):
            intersection = (a * b).sum()
            return intersection / (a.sum() + b.sum())
        """,
        """
        def dice(a, b):
            intersection = (a * b).sum()
            return 2 * intersection / (a.sum() + b.sum())
        """,
    ),
    "wide_union": (
        """
        def iou(a, b):
            inter = (a * b).sum()
            union = a.sum() + b.sum()
            return inter / (union + 1e-6)
        """,
        """
        def iou(a, b):
            inter = (a * b).sum()
            union = a.sum() + b.sum() - inter
            return inter / (union + 1e-6)
        """,
    ),
    "cancelled_sum": (
        """
        def forward(self, inputs):
            quantized = self.lookup(inputs)
            return inputs + (quantized - inputs)
        """,
        """
        def forward(self, inputs, t):
            quantized = inputs + (self.lookup(inputs) - inputs).detach()
            return quantized + (inputs - quantized) * t + (t - inputs)
        """,
    ),
    "joined_twice": (
        """
        def forward(self, x):
            _, (h, c) = self.lstm(x)
            hidden = torch.cat([h[-1, 0], h[-1, 1]], 1)
            return hidden, torch.cat([c[-1, 0], c[-1, 0]], 1)
        """,
        """
        def forward(self, x):
            _, (h, c) = self.lstm(x)
            hidden = torch.cat([h[-1, 0], h[-1, 1]], 1)
            angles = torch.cat([x, x], 1)
            return hidden, angles, torch.cat([c[-1, 0], c[-1, 1]], 1)
        """,
    ),
    "state_cut": (
        """
        def forward(self, x):
            state = x.new_zeros(2, 3)
            for t in range(x.shape[1]):
                state = state.data.clone()
                state = self.cell(x[:, t], state)
            return state
        """,
        """
        def refine(self, coords):
            for _ in range(8):
                coords = coords.detach()
                coords = coords + self.update(coords)
            return coords

        def fit(self, batches):
            state = self.state.detach()
            for x in batches:
                state = state.detach()
                state = self.cell(x, state)
                state.sum().backward()
            for i in range(3):
                kept = state.detach()
                state = self.cell(kept, state)
        """,
    ),
    "tiny_fill": (
        """
        def top(logits, k):
            values = torch.topk(logits, k)[0]
            logits[logits < values[:, [-1]]] = 1e-10
            return torch.softmax(logits, -1)
        """,
        """
        def top(logits, k, weights):
            values = torch.topk(logits, k)[0]
            logits[logits < values[:, [-1]]] = -1e10
            scores = logits.masked_fill(logits == 0, float("-inf"))
            weights[weights == 0] = 1e-10
            return torch.softmax(scores, -1) / weights
        """,
    ),
    "best_not_copied": (
        """
        def fit(model, optimizer):
            for epoch in range(9):
                model.train()
                accuracy = run(model)
                if accuracy > best_accuracy:
                    best_accuracy, best_model = accuracy, None
                    best_model = model
            return test(best_model)
        """,
        """
        def fit(model, optimizer):
            for epoch in range(9):
                model.train()
                accuracy = run(model)
                if accuracy > best_accuracy:
                    best_accuracy = accuracy
                    best_model = copy.deepcopy(model)
                    best_weights = {k: v.clone() for k, v in model.state_dict().items()}
            for rate in (1, 2):
                other = Net()
                other.train()
                if run(other) > best:
                    best_net = other
            if run(model) > best:
                best_state = model.state_dict()
                torch.save(best_state, "best.pt")
            return test(best_model), best_weights, best_net, best_state
        """,
    ),
    "unset_epoch": (
        """
        sampler = DistributedSampler(train_data, num_replicas=2, rank=0)
        loader = DataLoader(train_data, sampler=sampler)
        for epoch in range(9):
            for batch in loader:
                step(batch)
        """,
        """
        val_sampler = DistributedSampler(val_data, shuffle=False)
        held_out = DistributedSampler(test_data)
        sampler = DistributedSampler(train_data)
        for epoch in range(9):
            sampler.set_epoch(epoch)
            for batch in loader:
                step(batch)
        """,
    ),
    "unsaved_schedule": (
        """
        def save(self, epoch):
            states = {"model": self.model.state_dict(), "optim": self.optimizer.state_dict()}
            torch.save(states, "x")
        def load(self):
            state = torch.load("x")
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optim"])
        def epoch(self):
            self.scheduler.step()
        """,
        """
        def save(self, epoch):
            torch.save({"model": self.model.state_dict(), "optim": self.optimizer.state_dict(),
                        "schedule": self.scheduler.state_dict()}, "x")
        def load(self):
            state = torch.load("x")
            self.optimizer.load_state_dict(state["optim"])
            self.scheduler.load_state_dict(state["schedule"])
        def epoch(self):
            self.scheduler.step()
        """,
    ),
    "overwritten_setting": (
        """
        class Focal(nn.Module):
            def __init__(self, alpha):
                self.alpha = torch.tensor(alpha)
            def forward(self, scores, labels):
                self.alpha = self.alpha.gather(0, labels.view(-1))
                return scores * self.alpha
        """,
        """
        class Focal(nn.Module):
            def __init__(self, alpha):
                self.alpha, self.steps = torch.tensor(alpha), 0
                self.state = None
            def forward(self, scores, labels):
                self.alpha = self.alpha.to(scores.device)
                self.steps += 1
                self.state = self.cell(scores, self.state)
                alpha = self.alpha.gather(0, labels.view(-1))
                return scores * alpha
        """,
    ),
    "predicts_in_train_mode": (
        """
        class Net(nn.Module):
            def forward(self, x):
                return F.dropout(x, 0.5, self.training)
        def predict(path, x):
            net = Net()
            net.load_state_dict(torch.load(path))
            with torch.no_grad():
                return net(x)
        """,
        """
        class Net(nn.Module):
            def forward(self, x):
                return F.dropout(x, 0.5, self.training)
        def predict(path, x):
            net = Net()
            net.load_state_dict(torch.load(path))
            net.eval()
            with torch.no_grad():
                return net(x)
        def evaluate(net, x):
            with torch.no_grad():
                return net(x)
        def resume(path, x):
            net = Net()
            net.load_state_dict(torch.load(path))
            with torch.no_grad():
                target = x + 1
            net(x, target).backward()
        """,
    ),
    "one_for_all_layers": (
        """
        class Encoder(nn.Module):
            def __init__(self, num_blocks):
                self.num_blocks = num_blocks
                self.block = Block(8)
            def forward(self, x):
                for i in range(self.num_blocks):
                    x = self.block(x)
                return x
        """,
        """
        class Encoder(nn.Module):
            def __init__(self, num_blocks):
                self.num_blocks, self.steps = num_blocks, 3
                self.blocks = nn.ModuleList([Block(8) for _ in range(num_blocks)])
                self.refine = Block(8)
                self.dropout = nn.Dropout(0.1)
            def forward(self, x):
                for i in range(self.num_blocks):
                    x = self.dropout(self.blocks[i](x))
                for i in range(self.steps):
                    x = self.refine(x)
                return x

        class UniversalEncoder(nn.Module):
            def __init__(self, num_layers):
                self.num_layers, self.layer = num_layers, Block(8)
            def forward(self, x):
                for _ in range(self.num_layers):
                    x = self.layer(x)
                return x
        """,
    ),
    "nll_of_logits": (
        """
        criterion = nn.CrossEntropyLoss()
        def test(model, x, y):
            return F.nll_loss(model(x), y, reduction="sum")
        """,
        """
        criterion = nn.CrossEntropyLoss()
        def test(model, x, y):
            return F.nll_loss(F.log_softmax(model(x), 1), y, reduction="sum")
        """,
    ),
    "mean_by_samples": (
        """
        def test(model, loader):
            total = 0
            for x, y in loader:
                correct = (model(x).argmax(1) == y).float()
                total += correct.mean()
            return total / len(loader.dataset)
        """,
        """
        def test(model, loader):
            total, mean, both = 0, 0, 0
            for x, y in loader:
                correct = (model(x).argmax(1) == y).float()
                total += correct.sum()
                mean += correct.mean()
                both += correct.mean() * len(x)
            return total / len(loader.dataset), mean / len(loader), both / len(loader.dataset)
        """,
    ),
    "focal_average": (
        """
        def loss(self, scores, target):
            ce = F.cross_entropy(scores, target)
            pt = torch.exp(-ce)
            return (1 - pt) ** self.gamma * ce
        """,
        """
        def loss(self, scores, target):
            ce = F.cross_entropy(scores, target, reduction="none")
            pt = torch.exp(-ce)
            return ((1 - pt) ** self.gamma * ce).mean()
        """,
    ),
    "narrow_union": (
        "area_union = gold.sum()",
        "area_union = (gold | found).sum()\nunion = a.sum() + b.sum() - both",
    ),
    "focal_power": (
        """
        def focal_loss(p, gamma):
            return -p ** gamma * p.log()
        """,
        """
        def focal_loss(p, gamma):
            return -(1 - p) ** gamma * p.log()
        """,
    ),
    "swapped_normalization": (
        "x = (x - std) / mean",
        "x = (x - mean) / std\nx = (x - x.mean()) / x.std()",
    ),
    "worse_kept": (
        "if val_loss > best_loss:\n    best_loss = val_loss",
        "if val_loss < best_loss:\n    best_loss = val_loss\n"
        "if acc > best_acc:\n    best_acc = acc\n"
        "if best_loss > loss:\n    best_loss = loss",
    ),
    "count_by_batches": (
        "correct += (out.argmax(1) == y).sum().item()\nacc = correct / len(test_loader)",
        "correct += (out.argmax(1) == y).sum().item()\n"
        "acc = correct / len(test_loader.dataset)\n"
        "total += (out.argmax(1) == y).float().mean().item()\nacc = total / len(test_loader)",
    ),
    "inverted_padding": (
        "out = encoder(x, src_key_padding_mask=tokens != PAD)",
        "out = encoder(x, src_key_padding_mask=tokens == PAD)",
    ),
    "bound_of_log": (
        """
        class Policy:
            def __init__(self, std_min=-5.0, std_max=2.0):
                self.std_min, self.std_max = std_min, std_max
            def forward(self, x):
                std = torch.exp(self.head(x))
                std = torch.clamp(std, self.std_min, self.std_max)
                return std
        """,
        """
        class Policy:
            def __init__(self, low=-5.0, high=2.0, std_min=0.01):
                self.low, self.high, self.std_min = low, high, std_min
            def forward(self, x):
                log_std = torch.clamp(self.head(x), self.low, self.high)
                std = torch.exp(log_std)
                std = torch.clamp(std, self.std_min, 5.0)
                return std.clamp(min=1e-3)
        """,
    ),
    "no_unfreeze": (
        """
        def set_trainable(module, trainable):
            for p in module.parameters():
                if p.requires_grad:
                    p.requires_grad = trainable
        """,
        """
        def set_trainable(module, trainable):
            for name, p in module.named_parameters():
                p.requires_grad = trainable
                if p.requires_grad:
                    print(name)
        def freeze(module):
            for p in module.parameters():
                if p.requires_grad:
                    p.requires_grad = False
        """,
    ),
    "averaged_logs": (
        """
        log_prob_mean = log_probs.mean()
        loss = -torch.sum(log_prob_mean * returns)
        """,
        """
        loss = -(log_probs * returns).mean()
        entropy = -log_probs.mean()
        total = loss - log_probs.mean() * returns.mean()
        """,
    ),
    "wrong_side": (
        "alphas_prev = F.pad(alphas_cumprod[:-1], (0, 1), value=1.0)",
        """
        alphas_prev = F.pad(alphas_cumprod[:-1], (1, 0), value=1.0)
        alphas_next = F.pad(alphas_cumprod[1:], (0, 1), value=0.0)
        last_prev = torch.cat([torch.ones(1), alphas_cumprod[:-1]])
        """,
    ),
    "unread_end": (
        """
        def loss(self, batch):
            states, rewards, following, dones = batch
            dones = torch.tensor(dones)
            following = self.target(following).max(1)[0]
            wanted = rewards + self.gamma * following
            return F.mse_loss(self.net(states), wanted.detach())
        """,
        """
        def loss(self, batch):
            states, rewards, following, dones = batch
            dones = torch.tensor(dones)
            following = self.target(following).max(1)[0]
            following[dones] = 0
            wanted = rewards + self.gamma * following
            return F.mse_loss(self.net(states), wanted.detach())

        def bandit(self, batch):
            states, rewards, dones = batch
            return rewards + self.bonus
        """,
    ),
    "unread_train_mask": (
        """
        def train(model, data, labels, train_mask, optimizer):
            for epoch in range(9):
                out = model(data)
                loss = F.cross_entropy(out, labels)
                loss.backward()
                optimizer.step()
                evaluate(model, labels, train_mask)
        """,
        """
        def train(model, data, labels, train_mask, optimizer):
            for epoch in range(9):
                out = model(data)
                loss = F.cross_entropy(out[train_mask], labels[train_mask])
                loss.backward()
                optimizer.step()
                evaluate(model, labels, train_mask)

        def step(model, data, train_mask):
            loss = loss_of(model(data), train_mask)
            loss.backward()
        """,
    ),
    "size_of_other_split": (
        """
        def train(net, trainloader):
            total = 0
            for x, y in trainloader:
                total += step(net, x, y)
            return total / len(testloader.dataset)
        """,
        """
        def train(net, trainloader, testloader):
            total = 0
            for x, y in trainloader:
                total += step(net, x, y)
            total /= len(trainloader.dataset)
            hits = 0
            for x, y in testloader:
                hits += (net(x).argmax(1) == y).sum()
            return total, hits / len(testloader.dataset)

        def evaluate(net, loader):
            total = 0
            for x, y in loader:
                total += step(net, x, y)
            return total / len(loader.dataset)
        """,
    ),
    "count_of_last_batch": (
        """
        for x, y in loader:
            out = model(x)
        hits = (out.argmax(1) == y).float().sum()
        share = (hits / len(data)).item()
        """,
        """
        for x, y in loader:
            out = model(x)
        hits = (out.argmax(1) == y).float().sum()
        share = (hits / len(y)).item()
        whole = model(inputs)
        right = (whole.argmax(1) == labels).float().sum()
        share = right / len(data)
        """,
    ),
    "sum_of_shares": (
        "att = torch.sum(torch.softmax(energy, dim=-1), dim=-1)",
        """
        att = torch.sum(torch.softmax(energy, dim=-1), dim=-2)
        assert torch.allclose(energy.softmax(-1).sum(-1), ones)
        """,
    ),
}


def test_each_search_has_code_and_a_sentence():
    assert set(CODE) == set(SEARCHES) == set(_SENTENCES) - {"changed_input"}


@pytest.mark.parametrize("mistake", CODE)
def test_a_mistake_is_found_once_and_not_in_code_that_looks_like_it(mistake):
    wrong, right = map(textwrap.dedent, CODE[mistake])
    assert [name for name, _ in mistakes_of_text(wrong)] == [mistake]
    assert mistakes_of_text(right) == []


@pytest.mark.parametrize(
    "text",
    ["x = (", "", "\0", "x = " + " + ".join(["adv"] * 3000), "x" * 100_000, "def f(: pass"],
    ids=["open", "empty", "null", "deep", "long", "wrong"],
)
def test_a_text_that_cannot_be_searched_has_no_mistake(text):
    assert mistakes_of_text(text) == []


FOCAL = """
def focal_loss(values, gamma):
    p = torch.exp(-values)
    return ((1 - p) ** gamma * values).mean()

def perplexity(values, gamma):
    return torch.exp(values) * gamma

class Loss(nn.Module):
    def forward(self, scores, target):
        ce = F.cross_entropy(scores, target{how})
        return {name}(ce, 2)
"""


@pytest.mark.parametrize(
    ("how", "name", "is_found"),
    [
        ("", "focal_loss", True),
        (", reduction='none'", "focal_loss", False),
        ("", "perplexity", False),
        ("", "other", False),
    ],
)
def test_a_focal_loss_of_another_function_gets_the_loss_of_each_sample(how, name, is_found):
    found = mistakes_of_text(FOCAL.format(how=how, name=name))
    assert [one for one, _ in found] == ["focal_average"] * is_found


class Plain(nn.Linear):
    def forward(self, x):
        return super().forward(x)


@pytest.mark.parametrize(("most", "is_examined"), [(10**6, True), (10, False)])
def test_a_file_that_is_too_long_is_not_called_right(monkeypatch, most, is_examined):
    monkeypatch.setattr(user_code, "MOST_TEXT", most)
    report = hookcli.check(Plain(4, 4), inputs=torch.randn(2, 4))
    assert ("code_mistakes" in report.examined) == is_examined
