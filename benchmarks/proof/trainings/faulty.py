"""Trainings with one mistake each, and the rule that must find it."""

from __future__ import annotations

import copy

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


def finds(*rules):
    """Add a training under its function's name; one of the rules must fail."""

    def add(function):
        CASES[function.__name__.replace("_", " ")] = function, rules
        return function

    return add


@finds("learning_rate")
def learning_rate_of_zero():
    model = mlp(8, 32, 4)
    loop(model, optim.SGD(model.parameters(), 0.0, momentum=0.9), blobs(), cross)


@finds("learning_rate")
def schedule_by_batch_instead_of_epoch():
    model = ConvNet()
    optimizer = optim.Adam(model.parameters(), 1e-3)
    schedule = lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.1)
    loop(model, optimizer, images(), cross, after=lambda _: schedule.step())


@finds("finite_steps")
def diverges_to_nan():
    model = mlp(4, 32, 32, 1)
    loop(model, optim.SGD(model.parameters(), 30.0), sine(), mse)


@finds("finite_steps")
def log_of_zero():
    model = mlp(8, 32, 4)

    def loss(output, y):
        return -torch.log(torch.softmax(output * 40, 1)[torch.arange(len(y)), y]).mean()

    loop(model, optim.SGD(model.parameters(), 0.1), blobs(noise=3.0), loss)


@finds("finite_steps")
def square_root_at_zero():
    model = mlp(8, 32, 8)

    def loss(output, y):
        return (output - output.detach()).pow(2).sum(1).sqrt().mean() + cross(output, y)

    loop(model, optim.Adam(model.parameters(), 1e-3), blobs(), loss)


@finds("zero_grad_called")
def no_zero_grad():
    model = mlp(8, 32, 4)
    optimizer = optim.SGD(model.parameters(), 0.01)
    for _, (x, y) in zip(range(STEPS), blobs(), strict=False):
        cross(model(x), y).backward()
        optimizer.step()


@finds("zero_grad_called")
def no_zero_grad_with_adam():
    model = GPT()
    optimizer = optim.Adam(model.parameters(), 1e-3)
    for _, (x, y) in zip(range(STEPS), text(), strict=False):
        tokens_loss(model(x), y).backward()
        optimizer.step()


@finds("optimizer_steps")
def no_step():
    model = mlp(8, 32, 4)
    optimizer = optim.SGD(model.parameters(), 0.01)
    for _, (x, y) in zip(range(STEPS), blobs(), strict=False):
        optimizer.zero_grad()
        cross(model(x), y).backward()


@finds("optimizer_model")
def optimizer_of_the_model_before_a_copy():
    model = mlp(8, 32, 4)
    optimizer = optim.Adam(model.parameters(), 1e-3)
    model = copy.deepcopy(model)
    loop(model, optimizer, blobs(), cross)


@finds("optimizer_model")
def optimizer_of_another_fold():
    models = [ConvNet() for _ in range(2)]
    optimizer = optim.SGD(models[0].parameters(), 0.01)
    loop(models[1], optimizer, images(), cross)


@finds("optimizer_model")
def half_of_the_optimizer_is_of_an_old_head():
    model = ConvNet()
    optimizer = optim.Adam(model.parameters(), 1e-3)
    model.head = nn.Linear(16, 4)
    loop(model, optimizer, images(), cross)


@finds("unheld_parameters")
def layer_after_the_optimizer():
    model = mlp(8, 32, 4)
    optimizer = optim.Adam(model.parameters(), 1e-3)
    model.append(nn.Linear(4, 4))
    loop(model, optimizer, blobs(), cross)


@finds("unheld_parameters")
def only_the_head_by_mistake():
    model = Recurrent()
    loop(model, optim.Adam(model.head.parameters(), 1e-3), sequences(), cross)


@finds("grad_exists")
def detached_encoder():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.head = mlp(8, 32, 16), nn.Linear(16, 4)

        def forward(self, x):
            return self.head(self.encoder(x).detach())

    model = Model()
    loop(model, optim.Adam(model.parameters(), 1e-3), blobs(), cross)


@finds("grad_exists")
def unused_layer():
    model = ResNet()
    model.spare = nn.Linear(16, 4)
    loop(model, optim.Adam(model.parameters(), 1e-3), blobs(), cross)


@finds("grad_exists")
def dead_layer():
    model = mlp(8, 32, 16, 4)
    nn.init.constant_(model[2].bias, -100)
    loop(model, optim.SGD(model.parameters(), 0.01), blobs(), cross)


@finds("grad_exists")
def all_weights_zero():
    model = mlp(8, 32, 4)
    for p in model.parameters():
        nn.init.zeros_(p)
    loop(model, optim.SGD(model.parameters(), 0.1), blobs(), cross)


@finds("unchanged_parameters")
def weights_that_are_loaded_again():
    model = mlp(8, 32, 4)
    start = copy.deepcopy(model[0].state_dict())
    optimizer = optim.Adam(model.parameters(), 1e-3)
    for _, (x, y) in zip(range(STEPS), blobs(), strict=False):
        model[0].load_state_dict(start)
        optimizer.zero_grad()
        cross(model(x), y).backward()
        optimizer.step()


@finds("unchanged_parameters")
def updates_lost_in_bfloat16():
    model = mlp(8, 32, 4).bfloat16()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.where(p < 0, -1.0, 1.0))
    data = ((x.bfloat16(), y) for x, y in blobs())
    loop(model, optim.SGD(model.parameters(), 1e-5), data, lambda o, y: cross(o.float(), y))


@finds("unchanged_parameters")
def group_with_a_rate_of_zero():
    model = ConvNet()
    groups = [{"params": model.head.parameters()}, {"params": model.body.parameters(), "lr": 0.0}]
    loop(model, optim.SGD(groups, 0.05), images(), cross)


@finds("eval_while_training")
def eval_mode_after_the_first_validation():
    model, data = ConvNet(dropout=0.5), images()
    optimizer = optim.Adam(model.parameters(), 3e-3)
    for _ in range(4):
        loop(model, optimizer, data, cross, steps=60)
        model.eval()
        with torch.no_grad():
            model(next(data)[0])


@finds("eval_while_training")
def eval_mode_from_the_start():
    model = ConvNet(dropout=0.5).eval()
    loop(model, optim.Adam(model.parameters(), 3e-3), images(), cross)


@finds("graphless_training")
def validation_in_train_mode():
    model, data = ConvNet(dropout=0.5), images()
    optimizer = optim.Adam(model.parameters(), 3e-3)
    for _ in range(4):
        loop(model, optimizer, data, cross, steps=40)
        with torch.no_grad():
            for _, (x, _) in zip(range(3), data, strict=False):
                model(x)


@finds("loss_falls")
def labels_without_their_samples():
    model = mlp(8, 32, 4)
    nn.init.zeros_(model[2].weight)  # its loss starts at that of a guess
    data = ((x, y[torch.randperm(len(y))]) for x, y in blobs())
    loop(model, optim.SGD(model.parameters(), 0.02), data, cross, steps=300)


@finds("loss_falls")
def learning_rate_far_too_small():
    model = ConvNet()
    loop(model, optim.SGD(model.parameters(), 1e-7), images(), cross, steps=300)


@finds("loss_falls", "grad_norm_grows")
def maximizes():
    model = mlp(8, 32, 4)
    loop(model, optim.SGD(model.parameters(), 0.01, maximize=True), blobs(), cross)


@finds("skipped_steps", "loss_scale")
def overflow_in_each_step():
    model, data = mlp(8, 32, 4), blobs()
    optimizer = optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    for _, (x, y) in zip(range(STEPS), data, strict=False):
        optimizer.zero_grad()
        scaler.scale(cross(model(x), y)).backward()
        model[0].weight.grad.fill_(torch.inf)
        scaler.step(optimizer)
        scaler.update()


@finds("loss_scale")
def scale_that_collapses():
    model, data = mlp(8, 32, 4), blobs()
    optimizer = optim.SGD(model.parameters(), 1e-7)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**8, growth_interval=1000)
    for step, (x, y) in zip(range(STEPS), data, strict=False):
        optimizer.zero_grad()
        scaler.scale((1e6 if step else 1) * cross(model(x), y)).backward()
        for p in model.parameters():  # as in float16
            p.grad = torch.where(p.grad.abs() > 65504, torch.inf, p.grad)
        scaler.step(optimizer)
        scaler.update()


@finds("grad_norm_grows")
def steps_that_overshoot():
    model = nn.Linear(4, 1)

    def data():
        while True:
            x = torch.randn(64, 4)
            yield x, x.sum(1, keepdim=True)

    loop(model, optim.SGD(model.parameters(), 1.1), data(), mse)


@finds("vanishing_gradient")
def deep_sigmoid():
    model = mlp(8, *(16 for _ in range(12)), 4, activation=nn.Sigmoid)
    loop(model, optim.SGD(model.parameters(), 0.1), blobs(), cross)


@finds("update_ratio")
def adam_with_a_rate_of_100():
    model = mlp(8, 32, 4)
    loop(model, optim.Adam(model.parameters(), 100.0), blobs(), cross, steps=10)


@finds("update_ratio")
def rate_of_a_billionth():
    model = mlp(8, 32, 4).double()
    data = ((x.double(), y) for x, y in blobs())
    loop(model, optim.SGD(model.parameters(), 1e-12), data, cross)


@finds("loss_spikes")
def one_large_step():
    model = mlp(8, 32, 4)
    optimizer = optim.SGD(model.parameters(), 0.05)

    def jump(step):
        optimizer.param_groups[0]["lr"] = 20.0 if step in {98, 99, 100} else 0.05

    loop(model, optimizer, blobs(noise=0.5), cross, steps=200, after=jump)
