"""Healthy trainings: any finding that is not explained in `MEANT` is a false alarm."""

from __future__ import annotations

import copy
import math
from itertools import count

import torch
from torch import nn, optim
from torch.nn import functional
from torch.optim import lr_scheduler

from benchmarks.proof.trainings.parts import (
    GPT,
    STEPS,
    ConvNet,
    Recurrent,
    ResNet,
    blobs,
    cosine,
    images,
    loop,
    mlp,
    sequences,
    sine,
    text,
    tokens_loss,
)

CASES = {}
cross, mse = functional.cross_entropy, functional.mse_loss

# Findings that tell the truth about a training that is meant so: (training, rule) -> why.
MEANT: dict[tuple[str, str], str] = {
    ("text, momentum", "loss_falls"): "a true note: these steps leave the GPT nearly at a guess",
}


def case(function):
    """Add a training under its function's name."""
    CASES[function.__name__.replace("_", " ")] = function
    return function


OPTIMIZERS = {
    "SGD": lambda p: optim.SGD(p, 0.05),
    "SGD, small lr": lambda p: optim.SGD(p, 0.005),
    "momentum": lambda p: optim.SGD(p, 0.02, momentum=0.9, weight_decay=1e-4),
    "Adam": lambda p: optim.Adam(p, 3e-3),
    "AdamW": lambda p: optim.AdamW(p, 1e-3, weight_decay=0.1),
    "RMSprop": lambda p: optim.RMSprop(p, 1e-3),
    "Adagrad": lambda p: optim.Adagrad(p, 0.02),
}
TASKS = {
    "regression": (lambda: mlp(4, 32, 32, 1), sine, mse),
    "tanh regression": (lambda: mlp(4, 32, 1, activation=nn.Tanh), sine, functional.smooth_l1_loss),
    "classes": (lambda: mlp(8, 32, 4), blobs, cross),
    "residual": (ResNet, blobs, cross),
    "images": (ConvNet, images, cross),
    "sequences": (Recurrent, sequences, cross),
    "text": (GPT, text, tokens_loss),
}
GRID = {
    "regression": ("SGD", "momentum", "Adam", "RMSprop", "Adagrad"),
    "tanh regression": ("SGD", "AdamW"),
    "classes": ("SGD", "SGD, small lr", "Adam", "Adagrad"),
    "residual": ("momentum", "Adam", "AdamW"),
    "images": ("SGD", "momentum", "Adam", "RMSprop"),
    "sequences": ("Adam", "momentum"),
    "text": ("Adam", "AdamW", "momentum"),
}


def _of_grid(task, optimizer):
    def train():
        make, data, loss = TASKS[task]
        model = make()
        loop(model, OPTIMIZERS[optimizer](model.parameters()), data(), loss)

    return train


for _task, _names in GRID.items():
    for _name in _names:
        CASES[f"{_task}, {_name}"] = _of_grid(_task, _name)


@case
def warm_up_and_cosine_to_zero():
    model = mlp(8, 32, 4)
    optimizer = optim.AdamW(model.parameters(), 3e-3)
    schedule = lr_scheduler.LambdaLR(optimizer, cosine())
    loop(model, optimizer, blobs(), cross, after=lambda _: schedule.step())


@case
def one_cycle():
    model = ConvNet()
    optimizer = optim.SGD(model.parameters(), 0.01, momentum=0.9)
    schedule = lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=STEPS + 1)
    loop(model, optimizer, images(), cross, after=lambda _: schedule.step())


@case
def clipped_gradients():
    model, data = GPT(), text()
    optimizer = optim.Adam(model.parameters(), 3e-3)
    for _, (x, y) in zip(range(STEPS), data, strict=False):
        optimizer.zero_grad()
        tokens_loss(model(x), y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()


@case
def accumulation_of_four():
    model, data = ConvNet(dropout=0), images()
    optimizer = optim.Adam(model.parameters(), 3e-3)
    for step, (x, y) in zip(range(4 * 60), data, strict=False):
        (cross(model(x), y) / 4).backward()
        if step % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


@case
def validation_in_eval_mode():
    model, data = ConvNet(dropout=0.5), images()
    optimizer = optim.Adam(model.parameters(), 3e-3)
    for _ in range(10):
        model.train()
        loop(model, optimizer, data, cross, steps=15)
        model.eval()
        with torch.no_grad():
            for _, (x, _) in zip(range(3), data, strict=False):
                model(x)


@case
def lora():
    base = nn.Linear(8, 16).requires_grad_(False)
    down, up = nn.Linear(8, 2, bias=False), nn.Linear(2, 16, bias=False)
    nn.init.zeros_(up.weight)

    class LoRA(nn.Module):
        def __init__(self):
            super().__init__()
            self.base, self.down, self.up, self.head = base, down, up, nn.Linear(16, 4)

        def forward(self, x):
            return self.head(torch.relu(self.base(x) + self.up(self.down(x))))

    model = LoRA()
    optimizer = optim.AdamW((p for p in model.parameters() if p.requires_grad), 1e-2)
    loop(model, optimizer, blobs(), cross)


@case
def frozen_backbone_in_eval_mode():
    model = ConvNet(dropout=0)
    model.body.requires_grad_(False).eval()
    loop(model, optim.Adam(model.head.parameters(), 0.02), images(), cross)


@case
def frozen_batch_norm():
    model = ConvNet()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.eval().requires_grad_(False)
    loop(model, optim.Adam(model.parameters(), 3e-3), images(), cross)


@case
def gan():
    generator, critic = mlp(4, 32, 2), mlp(2, 32, 1)
    of_generator = optim.Adam(generator.parameters(), 1e-3, betas=(0.5, 0.9))
    of_critic = optim.Adam(critic.parameters(), 1e-3, betas=(0.5, 0.9))
    bce = functional.binary_cross_entropy_with_logits
    ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)
    for _ in range(STEPS):
        real = torch.randn(32, 2) + 2
        fake = generator(torch.randn(32, 4))
        of_critic.zero_grad()
        (bce(critic(real), ones) + bce(critic(fake.detach()), zeros)).backward()
        of_critic.step()
        of_generator.zero_grad()
        bce(critic(fake), ones).backward()
        of_generator.step()


@case
def wasserstein_gan_with_batch_norm():
    generator = nn.Sequential(nn.Linear(4, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
    critic = mlp(2, 32, 1)
    of_generator = optim.RMSprop(generator.parameters(), 5e-4)
    of_critic = optim.RMSprop(critic.parameters(), 5e-4)
    for step in range(STEPS):
        with torch.no_grad():
            fake = generator(torch.randn(32, 4))
        of_critic.zero_grad()
        (critic(fake).mean() - critic(torch.randn(32, 2) + 2).mean()).backward()
        of_critic.step()
        with torch.no_grad():
            for p in critic.parameters():
                p.clamp_(-0.1, 0.1)
        if step % 3 == 2:
            of_generator.zero_grad()
            (-critic(generator(torch.randn(32, 4))).mean()).backward()
            of_generator.step()


@case
def target_network():
    online = mlp(4, 32, 3)
    target = copy.deepcopy(online).requires_grad_(False)
    optimizer = optim.Adam(online.parameters(), 1e-3)
    for step in range(2 * STEPS):
        state, following = torch.randn(32, 4), torch.randn(32, 4)
        action = torch.randint(3, (32, 1))
        reward = state.sum(1, keepdim=True) * (action - 1)
        with torch.no_grad():
            goal = reward + 0.95 * target(following).max(1, keepdim=True).values
        optimizer.zero_grad()
        functional.smooth_l1_loss(online(state).gather(1, action), goal).backward()
        optimizer.step()
        if step % 20 == 19:
            target.load_state_dict(online.state_dict())


@case
def policy_gradient():
    policy = mlp(4, 32, 3)
    optimizer = optim.Adam(policy.parameters(), 3e-3)
    for _ in range(STEPS):
        state = torch.randn(64, 4)
        with torch.no_grad():
            action = torch.distributions.Categorical(logits=policy(state)).sample()
        reward = (action == state[:, :3].argmax(1)).float()
        advantage = (reward - reward.mean()) / (reward.std() + 1e-6)
        chance = torch.log_softmax(policy(state), 1)[torch.arange(64), action]
        optimizer.zero_grad()
        (-(chance * advantage).mean()).backward()
        optimizer.step()


@case
def teacher_by_moving_average():
    student = mlp(8, 32, 16)
    teacher = copy.deepcopy(student).requires_grad_(False)
    predictor = mlp(16, 32, 16)
    optimizer = optim.Adam([*student.parameters(), *predictor.parameters()], 1e-3)
    for _, (x, _) in zip(range(STEPS), blobs(), strict=False):
        with torch.no_grad():
            goal = teacher(x + 0.1 * torch.randn_like(x))
        guess = predictor(student(x + 0.1 * torch.randn_like(x)))
        optimizer.zero_grad()
        (2 - 2 * functional.cosine_similarity(guess, goal).mean()).backward()
        optimizer.step()
        with torch.no_grad():
            for p, q in zip(teacher.parameters(), student.parameters(), strict=True):
                p.lerp_(q, 0.01)


@case
def variational_autoencoder():
    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = mlp(8, 32, 4), mlp(2, 32, 8)

        def forward(self, x):
            mean, log = self.encoder(x).chunk(2, 1)
            return self.decoder(mean + torch.randn_like(mean) * (log / 2).exp()), mean, log

    model = VAE()
    optimizer = optim.Adam(model.parameters(), 3e-3)

    def loss(outputs, x):
        y, mean, log = outputs
        return mse(y, x) - 0.05 * (1 + log - mean**2 - log.exp()).mean()

    loop(model, optimizer, ((x, x) for x, _ in blobs()), loss)


@case
def density_with_a_loss_below_zero():
    model = mlp(4, 32, 2)
    optimizer = optim.Adam(model.parameters(), 5e-3)

    def loss(output, y):
        mean, log = output.chunk(2, 1)
        return (log + (y - mean) ** 2 * (-2 * log).exp() / 2).mean()

    loop(model, optimizer, sine(), loss)


@case
def batch_of_one():
    model = mlp(4, 16, 1)
    loop(model, optim.SGD(model.parameters(), 0.02), sine(batch=1), mse, steps=400)


@case
def noisy_labels():
    model = mlp(8, 32, 4)

    def data():
        for x, y in blobs():
            wrong = torch.rand(len(y)) < 0.3
            yield x, torch.where(wrong, torch.randint(4, y.shape), y)

    loop(model, optim.Adam(model.parameters(), 1e-3), data(), cross)


@case
def overfits_to_rounding():
    model = mlp(4, 64, 1)
    x, y = next(sine(8))
    loop(model, optim.Adam(model.parameters(), 1e-2), ((x, y) for _ in count()), mse, steps=1200)


@case
def reaches_its_floor_soon():
    model = nn.Linear(4, 1)

    def data():
        while True:
            x = torch.randn(64, 4)
            yield x, x.sum(1, keepdim=True) + torch.randn(64, 1)

    loop(model, optim.SGD(model.parameters(), 0.1), data(), mse, steps=600)


@case
def linear_model_without_a_scale():
    model = nn.Linear(4, 1)

    def data():
        while True:
            x = torch.randn(32, 4)
            yield x, 1000 * x.sum(1, keepdim=True) + 3000

    loop(model, optim.Adam(model.parameters(), 10.0), data(), mse, steps=300)


@case
def lbfgs():
    model = mlp(4, 16, 1)
    x, y = next(sine(64))
    optimizer = optim.LBFGS(model.parameters(), max_iter=4)

    def closure():
        optimizer.zero_grad()
        loss = mse(model(x), y)
        loss.backward()
        return loss

    for _ in range(30):
        optimizer.step(closure)


@case
def sparse_embedding():
    table, head = nn.Embedding(50, 8, sparse=True), nn.Linear(8, 4)

    class Bag(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.head = table, head

        def forward(self, x):
            return self.head(self.table(x).mean(1))

    model = Bag()
    of_table = optim.SparseAdam(table.parameters(), 0.01)
    of_head = optim.Adam(head.parameters(), 0.01)
    for _ in range(STEPS):
        x = torch.randint(50, (16, 5))
        of_table.zero_grad()
        of_head.zero_grad()
        cross(model(x), x[:, 0] % 4).backward()
        of_table.step()
        of_head.step()


@case
def experts_that_are_not_always_used():
    class Mixture(nn.Module):
        def __init__(self):
            super().__init__()
            self.experts = nn.ModuleList(mlp(8, 16, 4) for _ in range(4))

        def forward(self, x):
            return self.experts[int(torch.randint(4, ()))](x)

    model = Mixture()
    loop(model, optim.Adam(model.parameters(), 5e-3), blobs(), cross, steps=300)


@case
def layers_dropped_at_random():
    class Deep(ResNet):
        def forward(self, x):
            x = self.stem(x)
            for block in self.blocks:
                if not self.training or torch.rand(()) > 0.3:
                    x = block(x)
            return self.head(x)

    model = Deep()
    loop(model, optim.Adam(model.parameters(), 3e-3), blobs(), cross, steps=300)


@case
def two_heads_in_turn():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.a, self.b = mlp(8, 32, 16), nn.Linear(16, 4), nn.Linear(16, 8)

        def forward(self, x, head):
            return getattr(self, head)(torch.relu(self.body(x)))

    model, data = Two(), blobs()
    optimizer = optim.Adam(model.parameters(), 3e-3)
    for step, (x, y) in zip(range(2 * STEPS), data, strict=False):
        optimizer.zero_grad()
        loss = cross(model(x, "a"), y) if step % 2 else mse(model(x, "b"), x)
        loss.backward()
        optimizer.step()


@case
def bfloat16_autocast():
    model, data = ConvNet(), images()
    optimizer = optim.AdamW(model.parameters(), 3e-3)
    for _, (x, y) in zip(range(STEPS), data, strict=False):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = cross(model(x), y)
        loss.backward()
        optimizer.step()


@case
def weights_in_bfloat16():
    model = mlp(8, 32, 4).bfloat16()
    data = ((x.bfloat16(), y) for x, y in blobs())
    loop(model, optim.SGD(model.parameters(), 0.1), data, lambda o, y: cross(o.float(), y))


@case
def grad_scaler_that_finds_its_scale():
    model, data = mlp(8, 32, 4), blobs()
    optimizer = optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16, growth_interval=50)
    for _, (x, y) in zip(range(STEPS), data, strict=False):
        optimizer.zero_grad()
        loss = scaler.scale(cross(model(x), y))
        loss.backward()
        for p in model.parameters():  # as in float16
            p.grad = torch.where(p.grad.abs() > 2000, torch.inf, p.grad)
        scaler.step(optimizer)
        scaler.update()


@case
def folds():
    for fold in range(3):
        torch.manual_seed(fold)
        model = mlp(8, 16, 4)
        loop(model, optim.Adam(model.parameters(), 5e-3), blobs(), cross, steps=80)


@case
def update_by_hand():
    model = mlp(4, 16, 1)
    for _, (x, y) in zip(range(STEPS), sine(), strict=False):
        mse(model(x), y).backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.05 * p.grad
                p.grad = None


@case
def contrastive():
    model = mlp(8, 32, 16)
    optimizer = optim.Adam(model.parameters(), 2e-3)
    for _, (x, _) in zip(range(STEPS), blobs(), strict=False):
        a, b = (functional.normalize(model(x + 0.2 * torch.randn_like(x)), dim=1) for _ in "ab")
        optimizer.zero_grad()
        cross(a @ b.T / 0.2, torch.arange(len(x))).backward()
        optimizer.step()


@case
def multi_label_with_a_sum_as_loss():
    model = mlp(8, 32, 4)
    bce = functional.binary_cross_entropy_with_logits

    def loss(output, y):
        return bce(output, functional.one_hot(y, 4).float(), reduction="sum")

    loop(model, optim.SGD(model.parameters(), 1e-3), blobs(), loss)


@case
def poisson_counts():
    model = mlp(4, 16, 1)

    def data():
        while True:
            x = torch.rand(32, 4)
            yield x, torch.poisson((x.sum(1, keepdim=True)).exp())

    loop(model, optim.Adam(model.parameters(), 0.01), data(), functional.poisson_nll_loss)


@case
def quantization_by_a_straight_through_estimator():
    class Quantized(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(8, 32), nn.Linear(32, 4)

        def forward(self, x):
            w = self.first.weight
            w = w + ((w * 8).round() / 8 - w).detach()
            return self.second(torch.relu(functional.linear(x, w, self.first.bias)))

    model = Quantized()
    loop(model, optim.Adam(model.parameters(), 3e-3), blobs(), cross)


@case
def progressive_unfreezing():
    model, data = ConvNet(), images()
    model.body.requires_grad_(False)
    optimizer = optim.Adam(model.parameters(), 3e-3)
    loop(model, optimizer, data, cross, steps=50)
    model.body.requires_grad_(True)
    loop(model, optimizer, data, cross, steps=100)


@case
def deep_sigmoid_with_normalization():
    layers = []
    for _ in range(6):
        layers += [nn.Linear(8, 8), nn.LayerNorm(8), nn.Sigmoid()]
    model = nn.Sequential(*layers, nn.Linear(8, 4))
    loop(model, optim.Adam(model.parameters(), 5e-3), blobs(), cross, steps=300)


@case
def recurrent_language_model_with_clipping():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.rnn = nn.Embedding(12, 16), nn.GRU(16, 32, batch_first=True)
            self.head = nn.Linear(32, 12)

        def forward(self, x):
            return self.head(self.rnn(self.table(x))[0])

    model, data = Model(), text()
    optimizer = optim.SGD(model.parameters(), 1.0)
    for _, (x, y) in zip(range(STEPS), data, strict=False):
        optimizer.zero_grad()
        tokens_loss(model(x), y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()


@case
def short_run():
    model = ConvNet()
    loop(model, optim.Adam(model.parameters(), 1e-3), images(), cross, steps=5)


@case
def fine_tuning_with_a_small_lr():
    model, data = mlp(8, 32, 4), blobs(noise=2.0)
    loop(model, optim.Adam(model.parameters(), 1e-2), data, cross, steps=200)
    tuned = copy.deepcopy(model)
    loop(tuned, optim.AdamW(tuned.parameters(), 2e-5), data, cross, steps=100)


@case
def cyclic_learning_rate():
    model = mlp(4, 32, 1)
    optimizer = optim.SGD(model.parameters(), 0.01)
    schedule = lr_scheduler.LambdaLR(optimizer, lambda s: 1 + 9 * math.sin(s / 20) ** 2)
    loop(model, optimizer, sine(), mse, steps=300, after=lambda _: schedule.step())
