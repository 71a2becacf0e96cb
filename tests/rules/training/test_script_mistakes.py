"""Mistakes of training scripts in plain PyTorch, each next to the healthy script that it resembles.

The expected steps, counts and names are worked out by hand.
"""

from __future__ import annotations

import torch
from torch import nn

from hookcli.diagnosis.training import with_training_verdict
from hookcli.rules.catalogue import with_training_set
from hookcli.rules.judge_training import all_checks, judge_training
from tests.training.test_loops import watched


def judged(train):
    """The report of a training that is watched with the default steps, with its verdict."""
    torch.manual_seed(0)
    report, _ = watched(train, steps="0-2,every:10")
    return with_training_verdict(judge_training(report, with_training_set(())))


def findings(report, rule):
    """The messages of a rule's findings."""
    rows = all_checks(report)
    assert any(row.rule == rule for row in rows)
    return [row.message for row in rows if row.rule == rule and row.status == "fail"]


def first(report):
    """The first sentence of the verdict."""
    return report.diagnoses[0].sentence


# Modes


def with_modes(change):
    """A training of 30 steps; `change(net, step)` changes modes before the step."""

    def train():
        net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.1), nn.Linear(8, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(30):
            change(net, step)
            optimizer.zero_grad()
            net(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()

    return train


def test_a_validation_without_train_after_it_is_seen_at_the_step_where_it_begins():
    report = judged(with_modes(lambda net, step: net.eval() if step == 17 else None))
    assert (
        first(report)
        == "'1', '2' run in eval mode while training from step 17 on, after train mode"
    )
    assert report.diagnoses[0].step == 17


def test_steps_in_eval_mode_in_between_are_counted():
    report = judged(with_modes(lambda net, step: net.train(step not in (3, 4, 13))))
    [message] = findings(report, "eval_while_training")
    assert "in 3 of 30 steps, first at step 3" in message


def test_batch_norm_that_is_kept_in_eval_mode_is_on_purpose():
    def keep(net, step):
        net.train()
        if step > 10:
            net[1].eval()
            net[2].eval()

    report = judged(with_modes(keep))
    assert findings(report, "eval_while_training") == []


# What is trained


def test_a_frozen_network_through_which_an_image_is_optimised_is_not_trained():
    def train():
        net = nn.Sequential(nn.Linear(4, 4), nn.Tanh()).requires_grad_(False)
        image = torch.randn(2, 4, requires_grad=True)
        optimizer = torch.optim.Adam([image], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            net(image).square().mean().backward()
            optimizer.step()

    report = judged(train)
    assert [record.training.unit for record in report.records] == ["optimizer"]
    assert report.diagnoses == ()


def test_an_unused_part_of_the_same_optimizer_is_named_as_itself():
    """Adam has the parameters of three roots, and the loss does not reach those of `codes`."""

    def train():
        encoder, codes, decoder = nn.Linear(4, 4), nn.Embedding(4, 4), nn.Linear(4, 4)
        parts = nn.ModuleList([encoder, codes, decoder])
        optimizer = torch.optim.Adam([*encoder.parameters(), *codes.parameters()], lr=0.01)
        optimizer.add_param_group({"params": [*decoder.parameters()]})
        del parts
        for _ in range(20):
            h = encoder(torch.randn(8, 4))
            h = h + (codes(torch.arange(8) % 4) - h).detach()
            optimizer.zero_grad()
            decoder(h).square().mean().backward()
            optimizer.step()

    report = judged(train)
    assert findings(report, "optimizer_model") == []
    assert any("weight" in message for message in findings(report, "grad_exists"))


# The use of gradients


def gan(change):
    """Two optimizers in turn; `change` names the mistake."""

    def train():
        g, d = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
        g_opt = torch.optim.SGD(g.parameters(), lr=0.01)
        d_opt = torch.optim.SGD(d.parameters(), lr=0.01)
        for _ in range(12):
            real, fake = torch.randn(8, 4), g(torch.randn(8, 2))
            d_loss = d(fake.detach()).mean() - d(real).mean()
            d_opt.zero_grad()
            d_loss.backward()
            (g_opt if change == "wrong optimizer" else d_opt).step()
            shown = fake.detach() if change == "detached" else fake
            adversarial = -d(shown).mean()
            pixels = (fake - real).abs().mean()
            loss = adversarial + 0.1 * pixels
            g_opt.zero_grad()
            loss.backward()
            if change == "wrong clip":
                nn.utils.clip_grad_norm_(d.parameters(), 1.0)
            if change == "norm only":
                nn.utils.clip_grad_norm_(d.parameters(), float("inf"))
            g_opt.step()

    return train


def test_a_healthy_gan_uses_all_gradients():
    for change in ("none", "norm only"):
        report = judged(gan(change))
        assert findings(report, "gradients_used") == findings(report, "clipping_used") == []


def test_an_optimizer_that_never_steps_is_named_with_its_model():
    [message] = findings(judged(gan("wrong optimizer")), "gradients_used")
    assert message == (
        "'d' is never updated: 'd_opt' (SGD) never steps, though it erases gradients 12 times"
    )


def test_a_term_that_trains_nothing_is_named_with_what_is_detached():
    [message] = findings(judged(gan("detached")), "gradients_used")
    assert "the term 'adversarial' of the loss gives no gradient to 'g'" in message
    assert "fake.detach()" in message


def test_clipping_of_gradients_that_are_erased_has_no_effect():
    [message] = findings(judged(gan("wrong clip")), "clipping_used")
    assert "gradients of 'd' has no effect" in message


def one_loop(order):
    """A loop whose calls are in an order, such as "zbs": zero_grad, backward, step."""

    def train():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(12):
            loss = net(torch.randn(8, 4)).square().mean()
            for call in order:
                if call == "z":
                    optimizer.zero_grad()
                elif call == "b":
                    loss.backward(retain_graph=True)
                elif call == "s":
                    optimizer.step()
                else:
                    _ = [p.grad.square().sum() for p in net.parameters()]

    return train


def test_gradients_that_are_erased_before_the_step_are_seen():
    [message] = findings(judged(one_loop("bzs")), "gradients_used")
    assert message.startswith("zero_grad at ")
    assert "erases the gradients between backward and the step" in message


def test_other_orders_of_the_calls_are_healthy():
    for order in ("zbs", "bsz", "brzzbs"):
        assert findings(judged(one_loop(order)), "gradients_used") == [], order


# Weights that are loaded


def loading(keys):
    """A training of a model that loads the weights of another one, with other keys."""

    def train():
        net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
        given = {keys(name): torch.zeros_like(p) for name, p in net.state_dict().items()}
        given = {name: value for name, value in given.items() if name}
        net.load_state_dict(given, strict=False)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()

    return train


def test_keys_with_a_prefix_load_nothing():
    report = judged(loading(lambda name: f"module.{name}"))
    assert first(report).startswith(
        "load_state_dict loads 0 of 4 parameters of 'net': the keys begin with 'module.', and 4"
    )
    assert report.diagnoses[0].severity == "error"


def test_a_part_whose_keys_have_a_prefix_is_seen():
    report = judged(loading(lambda name: f"m.{name}" if name.startswith("0") else name))
    [message] = findings(report, "loaded_weights")
    assert "loads 2 of 4 parameters" in message
    assert "2 keys would fit" in message


def test_a_head_that_is_replaced_is_healthy():
    report = judged(loading(lambda name: f"old_head_{name[-1]}" if name[0] == "2" else name))
    assert findings(report, "loaded_weights") == []


# Schedules


def scheduled(make, *, each=1, value=None, set_rate=None):
    """60 steps; the scheduler steps after `each` of them, with the value of a name if there is one.

    `set_rate(step)` sets the learning rate instead.
    """

    def train():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        scheduler = None if make is None else make(optimizer)
        for step in range(60):
            if set_rate is not None:
                optimizer.param_groups[0]["lr"] = set_rate(step)
            optimizer.zero_grad()
            loss = net(torch.ones(8, 4)).square().mean()
            loss.backward()
            optimizer.step()
            if scheduler is None or step % each != each - 1:
                continue
            if value == "loss":
                valid = nn.functional.mse_loss(net(torch.ones(8, 4)), torch.zeros(8, 1))
                scheduler.step(valid.item())
            elif value == "accuracy":
                val_acc = step / 60
                scheduler.step(val_acc)
            elif value == "other":
                value_of_step = step / 60
                scheduler.step(value_of_step)
            else:
                scheduler.step()

    return train


def step_lr(optimizer):
    return torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)


def test_a_schedule_of_epochs_that_steps_with_every_batch_is_named():
    report = judged(scheduled(step_lr))
    assert "StepLR steps with every batch, 60 times" in first(report)
    assert report.diagnoses[0].place.startswith("tests/rules/training/test_script_mistakes.py:")


def test_schedules_that_step_as_they_should_pass():
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR
    for train in (
        scheduled(step_lr, each=10),
        scheduled(lambda optimizer: cosine(optimizer, T_max=60)),
        scheduled(lambda o: torch.optim.lr_scheduler.ExponentialLR(o, gamma=0.9)),  # to 0.002
    ):
        assert findings(judged(train), "schedule_steps") == []


def plateau(mode):
    return lambda o: torch.optim.lr_scheduler.ReduceLROnPlateau(o, mode, patience=1)


def test_the_mode_of_a_plateau_fits_a_loss_and_an_accuracy():
    [message] = findings(judged(scheduled(plateau("max"), value="loss")), "plateau_mode")
    assert "watches the loss 'valid' in mode 'max'" in message
    [message] = findings(judged(scheduled(plateau("min"), value="accuracy")), "plateau_mode")
    assert "watches the score 'val_acc' in mode 'min'" in message
    for mode, value in (("min", "loss"), ("max", "accuracy"), ("min", "other"), ("max", "other")):
        report = judged(scheduled(plateau(mode), value=value))
        assert findings(report, "plateau_mode") == [], (mode, value)


def test_a_warm_up_that_begins_again_in_each_epoch():
    report = judged(scheduled(None, set_rate=lambda step: 0.001 * (1 + step % 15)))
    [message] = findings(report, "warmup_restarts")
    assert "restarts 3 times, at step 15, 30, 45" in message
    for healthy in (
        lambda step: 0.001 * (15 - step % 15),  # warm restarts
        lambda step: 0.001 * (1 + min(step % 20, 20 - step % 20)),  # cycles
        lambda step: 0.001 * (1 + min(step, 10)),  # one warm-up
    ):
        assert findings(judged(scheduled(None, set_rate=healthy)), "warmup_restarts") == []
