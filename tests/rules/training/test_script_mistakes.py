"""Mistakes of training scripts in plain PyTorch, each next to the healthy script that it resembles.

The expected steps, counts and names are worked out by hand.
"""

from __future__ import annotations

import pytest
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


def test_updates_that_the_script_makes_itself_use_the_gradients():
    def train():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            net(torch.randn(8, 4)).square().mean().backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.1)
            for p in net.parameters():
                p.data.add_(p.grad, alpha=-0.01)

    report = judged(train)
    assert findings(report, "gradients_used") == findings(report, "clipping_used") == []


def test_an_optimizer_that_steps_inside_backward_steps():
    def train():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        net.bias.register_post_accumulate_grad_hook(lambda _: optimizer.step())
        for _ in range(12):
            net(torch.randn(8, 4)).square().mean().backward()
            optimizer.zero_grad()

    assert findings(judged(train), "gradients_used") == []


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


# Losses


def trained_by(loss_of, *, net=None, count=12):
    """A training whose loss is `loss_of(net, x)`, which calls backward itself."""

    def train():
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)) if net is None else net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(count):
            optimizer.zero_grad()
            loss_of(model, torch.randn(6, 4))
            optimizer.step()

    return train


def penalised(graph):
    def loss_of(net, x):
        x.requires_grad_(True)
        slope = torch.autograd.grad(net(x).sum(), x, create_graph=graph)[0]
        penalty = (slope.norm(dim=1) - 1).square().mean()
        loss = net(x.detach()).square().mean() + penalty
        loss.backward()

    return loss_of


def test_a_penalty_without_a_graph_is_a_constant():
    report = judged(trained_by(penalised(graph=False)))
    assert first(report).startswith("the term 'penalty' of the loss is a constant")
    assert findings(judged(trained_by(penalised(graph=True))), "constant_term") == []


def test_constants_that_are_meant_are_not_accused():
    def with_offset(net, x):
        """The entropy of the targets, which makes a cross entropy a divergence."""
        offset = torch.randn(6, 3).softmax(1).log().mean()
        loss = net(x).square().mean() + offset
        loss.backward()

    def attacked(net, x):
        x.requires_grad_(True)
        slope = torch.autograd.grad(net(x).square().sum(), x)[0]
        loss = net((x + 0.1 * slope.sign()).detach()).square().mean()
        loss.backward()

    for loss_of in (with_offset, attacked):
        assert findings(judged(trained_by(loss_of)), "constant_term") == []


def distilled(itself):
    teacher = nn.Linear(4, 3)

    def loss_of(net, x):
        with torch.no_grad():
            wanted = teacher(x).log_softmax(1)
        out = net(x).log_softmax(1)
        hard = nn.functional.nll_loss(out, torch.zeros(6, dtype=torch.long))
        given = wanted if itself else out
        soft = nn.functional.kl_div(given, wanted, log_target=True, reduction="sum")
        loss = soft + 0.1 * hard
        loss.backward()

    return loss_of


def test_a_teacher_that_is_compared_with_itself():
    [message] = findings(judged(trained_by(distilled(itself=True))), "constant_term")
    assert message.endswith("neither 'given' nor 'wanted' has a gradient, and they are equal")
    assert findings(judged(trained_by(distilled(itself=False))), "constant_term") == []


def test_kl_div_gets_probabilities():
    def of(make):
        def loss_of(net, x):
            out = make(net(x))
            loss = nn.functional.kl_div(out, torch.full((6, 3), 1 / 3), reduction="sum")
            loss.backward()

        return judged(trained_by(loss_of))

    [message] = findings(of(lambda y: y.softmax(1)), "loss_values")
    assert "kl_div gets probabilities instead of log-probabilities" in message
    assert findings(of(lambda y: y.log_softmax(1)), "loss_values") == []


def test_a_label_of_ctc_is_the_blank_only_within_its_length():
    def of(labels, lengths, blank=0):
        def loss_of(net, x):
            logs = net(x).log_softmax(-1).unsqueeze(1).expand(6, 2, 3)
            sizes = torch.tensor([6, 6]), torch.tensor(lengths)
            loss = nn.functional.ctc_loss(logs, torch.tensor(labels), *sizes, blank=blank)
            loss.backward()

        return judged(trained_by(loss_of))

    [message] = findings(of([[0, 1], [1, 2]], [2, 2]), "loss_values")
    assert message.startswith("ctc_loss gets 1 label of class 0, which is its blank")
    assert findings(of([[1, 0], [1, 2]], [1, 2]), "loss_values") == []  # padded by 0
    assert findings(of([[0, 1], [1, 1]], [2, 1], blank=2), "loss_values") == []


def test_ctc_gets_log_probabilities():
    def of(make):
        def loss_of(net, x):
            logs = make(net(x)).unsqueeze(1).expand(6, 2, 3)
            sizes = torch.tensor([6, 6]), torch.tensor([1, 1])
            nn.functional.ctc_loss(logs, torch.tensor([[1], [2]]), *sizes).backward()

        return judged(trained_by(loss_of))

    for make in (lambda y: y, lambda y: y.softmax(-1)):
        [message] = findings(of(make), "loss_values")
        assert message.startswith("ctc_loss gets values that are no log-probabilities: over the ")
    assert findings(of(lambda y: y.log_softmax(-1)), "loss_values") == []


def test_targets_of_a_binary_loss_are_between_0_and_1():
    def of(low):
        def loss_of(net, x):
            target = torch.tensor([[low, 1.0, 1.0]]).expand(6, 3)
            nn.functional.binary_cross_entropy_with_logits(net(x), target).backward()

        return judged(trained_by(loss_of))

    assert "targets from -1 to 1" in findings(of(-1.0), "loss_values")[0]
    assert findings(of(0.1), "loss_values") == []


def test_what_check_knows_of_a_loss_is_known_of_a_training():
    def broadcast(net, x):
        (net(x)[:, :1] - torch.zeros(6)).square().mean().backward()

    report = judged(trained_by(broadcast))
    assert "broadcasts shapes [6, 1] and [6]" in first(report)

    def softmax(net, x):
        nn.functional.cross_entropy(net(x).softmax(1), torch.zeros(6, dtype=torch.long)).backward()

    assert first(judged(trained_by(softmax))).startswith("cross_entropy gets the softmax")


class Listed(nn.Module):
    """Layers in a plain list."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.more = [nn.Linear(4, 4), nn.Linear(4, 3)]

    def forward(self, x):
        for layer in (self.first, *self.more):
            x = layer(x)
        return x


def test_layers_in_a_plain_list_are_not_registered_unless_the_optimizer_has_them():
    def square(net, x):
        net(x).square().mean().backward()

    report = judged(trained_by(square, net=Listed))
    assert first(report).startswith(
        "'more' is a plain list, so its 4 parameters are not registered"
    )

    def held():
        net = Listed()
        more = [p for layer in net.more for p in layer.parameters()]
        optimizer = torch.optim.SGD([*net.parameters(), *more], lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            square(net, torch.randn(6, 4))
            optimizer.step()

    assert judged(held).diagnoses == ()


def rewarded(sign, *, samples=True):
    def loss_of(net, x):
        policy = torch.distributions.Categorical(logits=net(x))
        action = policy.sample() if samples else torch.zeros(6)
        bonus = policy.entropy().mean()
        gain = (policy.log_prob(action) * torch.randn(6)).mean()
        loss = -gain + sign * 0.1 * bonus
        loss.backward()

    return loss_of


def test_the_entropy_of_a_policy_is_subtracted():
    [message] = findings(judged(trained_by(rewarded(1))), "entropy_sign")
    assert message.startswith("the entropy of the policy, 'bonus', is added to the loss")
    assert findings(judged(trained_by(rewarded(-1))), "entropy_sign") == []

    def certain(net, x):
        """Predictions are meant to become certain."""
        policy = torch.distributions.Categorical(logits=net(x))
        loss = policy.entropy().mean()
        loss.backward()

    assert findings(judged(trained_by(certain)), "entropy_sign") == []


# What is frozen, and what is in no optimizer


def with_head(change):
    """A model and a head that is called by itself; `change(net, head)` returns the parameters."""

    def train():
        net, head = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)), nn.Linear(4, 3)
        optimizer = torch.optim.SGD(change(net, head), lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            head.zero_grad()
            head(net(torch.randn(6, 4))).square().mean().backward()
            optimizer.step()

    return train


def test_a_head_that_is_in_no_optimizer_is_never_updated():
    report = judged(with_head(lambda net, head: net.parameters()))
    assert first(report) == (
        "'head' is never updated: no optimizer has its 2 parameters, with gradients in each step "
        "of SGD"
    )
    assert [record.training.record for record in report.records] == ["net"]


def test_a_head_that_is_trained_frozen_loaded_or_in_eval_mode_is_healthy():
    def frozen(net, head):
        head.requires_grad_(False)
        return net.parameters()

    def loaded(net, head):
        head.load_state_dict(nn.Linear(4, 3).state_dict())
        return net.parameters()

    def evaluated(net, head):
        head.eval()
        return net.parameters()

    def trained(net, head):
        return [*net.parameters(), *head.parameters()]

    for change in (frozen, loaded, evaluated, trained):
        found = judged(with_head(change)).diagnoses
        assert {one.cause for one in found} <= {"linear_after_linear"}, change


def test_an_attribute_of_a_module_or_parameter_freezes_nothing():
    def module(net, head):
        net[0].requires_grad = False
        return [*net.parameters(), *head.parameters()]

    def parameter(net, head):
        net[1].weight.require_grad = False
        return [*net.parameters(), *head.parameters()]

    def method(net, head):
        net[0].requires_grad_(False)
        return [*net.parameters(), *head.parameters()]

    assert "'0' is not frozen" in first(judged(with_head(module)))
    assert "'1.weight' is not frozen: 'require_grad'" in first(judged(with_head(parameter)))
    assert findings(judged(with_head(method)), "frozen_attribute") == []


# Batches


def loaded(*, again, shuffle, size=8, validates=False):
    """Each step takes the first batch of an iterator: a new one, if it begins `again`."""

    def train():
        data = torch.utils.data.TensorDataset(torch.randn(32, 4))
        loader = torch.utils.data.DataLoader(data, batch_size=size, shuffle=shuffle)
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        iterator = iter(loader)
        for step in range(12):
            if again or step % (32 // size) == 0:
                iterator = iter(loader)
            (x,) = next(iterator)
            if validates and step % 4 == 3:
                net(torch.randn(5, 4))  # without no_grad
            optimizer.zero_grad()
            net(x).square().mean().backward()
            optimizer.step()

    return train


def test_a_loader_that_begins_again_in_each_step():
    report = judged(loaded(again=True, shuffle=False))
    assert first(report).startswith(
        "all 12 steps have the same batch, the first of 4: the DataLoader begins again 13 times"
    )
    with_validation = judged(loaded(again=True, shuffle=False, validates=True))
    assert first(with_validation) == first(report)
    for healthy in (
        loaded(again=True, shuffle=True),
        loaded(again=False, shuffle=False),
        loaded(again=True, shuffle=False, size=32),  # it has one batch
    ):
        assert findings(judged(healthy), "first_batch_only") == []


# Rounding


def rounded(rate, dtype=torch.bfloat16, *, changed=1):
    """Weights of 1 and gradients of about 1: bfloat16 has steps of 2**-7 above 1."""

    def train():
        net = nn.Linear(16, 16, bias=False).to(dtype)
        nn.init.constant_(net.weight, 1.5)
        with torch.no_grad():
            net.weight[:changed] = 1e-3  # the only rows that an update changes
        optimizer = torch.optim.SGD(net.parameters(), lr=rate)
        for _ in range(12):
            optimizer.zero_grad()
            net(torch.ones(2, 16, dtype=dtype)).sum().backward()
            optimizer.step()

    return train


def test_updates_that_are_lost_in_rounding():
    [message] = findings(judged(rounded(1e-3)), "lost_updates")
    assert message == (
        "each step leaves 94% or more of the elements of 'weight' as they were: updates are lost "
        "in the rounding of bfloat16"
    )
    report = judged(rounded(1e-3, changed=7))
    (row,) = [r for r in all_checks(report) if r.rule == "lost_updates" and r.status == "fail"]
    assert row.severity == "note"
    assert row.message.startswith("each step leaves 56% or more of the elements of 'weight'")
    assert findings(judged(rounded(1e-3, changed=10)), "lost_updates") == []
    assert findings(judged(rounded(0.1)), "lost_updates") == []
    assert findings(judged(rounded(1e-3, torch.float32)), "lost_updates") == []


# Schedules of epochs and of batches, scales, seeds


def test_a_schedule_made_for_batches_that_steps_with_epochs_and_the_other_way():
    def cycle(optimizer):
        return torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=60)

    def cosine(horizon):
        return lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=horizon)

    [message] = findings(judged(scheduled(cycle, each=10)), "schedule_steps")
    assert message.startswith(
        "OneCycleLR is made for 60 steps, as many as the optimizer makes, and"
    )
    [message] = findings(judged(scheduled(cosine(10))), "schedule_steps")
    assert "made for 10 steps, and steps with every batch, 60 times" in message
    for healthy in (
        scheduled(cosine(60)),
        scheduled(cosine(6), each=10),
        scheduled(cosine(60), each=1),
    ):
        assert findings(judged(healthy), "schedule_steps") == []


def called(make, step, *, each=1):
    """Train for 60 steps; `step` calls the scheduler with the loss, in one of `each` steps."""

    def train():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        scheduler = make(optimizer)
        for i in range(60):
            optimizer.zero_grad()
            loss = net(torch.randn(8, 4)).square().mean()
            loss.backward()
            optimizer.step()
            if i % each == each - 1:
                step(scheduler, loss, i)

    return train


def plain(scheduler, loss, i):
    scheduler.step()


S = torch.optim.lr_scheduler


@pytest.mark.parametrize(
    ("make", "step", "each", "message"),
    [
        (lambda o: S.StepLR(o, 30), lambda s, loss, i: s.step(loss.item()), 1, "such as a loss"),
        (lambda o: S.StepLR(o, 30), lambda s, loss, i: s.step(i), 1, None),
        (
            lambda o: S.CosineAnnealingWarmRestarts(o, 30), lambda s, loss, i: s.step(i / 7), 1,
            None,
        ),
        (
            lambda o: S.MultiplicativeLR(o, lambda epoch: 0.9**epoch), plain, 10,
            "the factors of MultiplicativeLR are 0.9, 0.81, 0.729",
        ),
        (lambda o: S.MultiplicativeLR(o, lambda epoch: 0.9), plain, 10, None),
        (lambda o: S.LambdaLR(o, lambda i: (i + 1) / 10), plain, 1, "still grows at the end"),
        (lambda o: S.LambdaLR(o, lambda i: min(1.0, (i + 1) / 10)), plain, 1, None),
        (lambda o: S.LambdaLR(o, lambda i: 3.0 if i < 20 else 2.0), plain, 1, None),
        (
            lambda o: S.ReduceLROnPlateau(o, patience=3), lambda s, loss, i: s.step(loss.item()), 1,
            "its patience counts batches",
        ),
        (
            lambda o: S.ReduceLROnPlateau(o, patience=3), lambda s, loss, i: s.step(1.0), 10,
            None,
        ),
        (lambda o: S.MultiStepLR(o, [40, 50]), plain, 10, "as the first is 40"),
        (lambda o: S.MultiStepLR(o, [4, 5]), plain, 10, None),
        (lambda o: S.CosineAnnealingLR(o, 4), plain, 10, "from its lowest value on"),
        (lambda o: S.CosineAnnealingLR(o, 6), plain, 10, None),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::UserWarning")  # of an epoch that is passed
def test_schedules_that_do_something_else_than_they_are_made_for(make, step, each, message):
    found = findings(judged(called(make, step, each=each)), "schedule_steps")
    assert [message in one for one in found if message] == [True] * (message is not None)
    assert len(found) == (message is not None)


def test_nll_loss_gets_log_probabilities_over_the_classes():
    def of(make):
        def loss_of(net, x):
            nn.functional.nll_loss(make(net(x)), torch.zeros(6, dtype=torch.long)).backward()

        return judged(trained_by(loss_of))

    assert "no log-probabilities" in findings(of(lambda y: 3 * y), "loss_values")[0]
    assert "no log-probabilities" in findings(of(lambda y: y.log_softmax(0)), "loss_values")[0]
    assert findings(of(lambda y: y.log_softmax(1)), "loss_values") == []


def test_gradients_are_unscaled_before_they_are_clipped():
    def scaled(*, unscale):
        def train():
            net = nn.Linear(4, 1)
            optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
            scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
            for _ in range(12):
                optimizer.zero_grad()
                scaler.scale(net(torch.randn(8, 4)).square().mean()).backward()
                if unscale:
                    scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                scaler.step(optimizer)
                scaler.update()

        return judged(train)

    [message] = findings(scaled(unscale=False), "clipping_used")
    assert message.startswith("gradients are clipped while they are multiplied by 1024")
    assert findings(scaled(unscale=True), "clipping_used") == []


def test_a_seed_in_the_loop_is_seen_and_one_for_some_steps_is_not():
    def seeded(every, seed=lambda _: 0):
        counts = iter(range(100))

        def loss_of(net, x):
            step = next(counts)
            if step % every == 0:
                torch.manual_seed(seed(step))
            net(x + torch.randn(6, 4)).square().mean().backward()

        return judged(trained_by(loss_of, count=20))

    [message] = findings(seeded(1), "repeated_seed")
    assert message.startswith("torch.manual_seed(0) is called in 20 of 20 steps")
    [note] = [row for row in all_checks(seeded(5)) if row.rule == "repeated_seed"]
    assert note.severity == "note"
    assert note.message.startswith("torch.manual_seed(0) is called 4 times between steps")
    assert findings(seeded(1, lambda step: step), "repeated_seed") == []


def test_weights_that_are_initialized_again_after_they_were_loaded():
    def of(change):
        def train():
            net = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
            other = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
            net.load_state_dict(other.state_dict())
            change(net)
            optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
            for _ in range(3):
                optimizer.zero_grad()
                net(torch.randn(8, 16)).square().mean().backward()
                optimizer.step()

        return judged(train)

    def again(net):
        for layer in (net[0], net[2]):
            layer.reset_parameters()

    def one_layer(net):
        net[2].reset_parameters()

    def noise(net):
        with torch.no_grad():
            for p in net.parameters():
                p.mul_(0.9).add_(0.01 * torch.randn_like(p))

    [message] = findings(of(again), "loaded_weights")
    assert message.startswith("the weights that 'net' has loaded are overwritten before the first")
    for change in (lambda net: None, one_layer, noise):
        assert findings(of(change), "loaded_weights") == []


def test_weights_that_are_loaded_into_a_model_that_never_runs():
    def small():
        return nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))

    def of(use):
        def train():
            saved = {name: tensor.clone() for name, tensor in small().state_dict().items()}
            net, other = small(), small()
            use(net, other, saved)
            optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
            for _ in range(3):
                optimizer.zero_grad()
                net(torch.randn(8, 16)).square().mean().backward()
                optimizer.step()

        return findings(judged(train), "loaded_weights")

    [message] = of(lambda net, other, saved: other.load_state_dict(saved))
    assert message.startswith("weights are loaded into 'other' (Sequential), which never runs: ano")

    def teacher(net, other, saved):
        other.load_state_dict(saved)
        other(torch.randn(8, 16))

    def in_parts(net, other, saved):
        other.load_state_dict(saved)
        for mine, loaded in zip(net, other, strict=True):
            mine.load_state_dict(loaded.state_dict())

    def copied(net, other, saved):
        other.load_state_dict(net.state_dict())

    for use in (teacher, in_parts, copied, lambda net, other, saved: net.load_state_dict(saved)):
        assert of(use) == []


def test_the_largest_of_one_output_is_always_the_first():
    def of(outputs):
        def train():
            net = nn.Linear(4, outputs)
            optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
            x, y = torch.randn(8, 4), torch.rand(8, outputs)
            for _ in range(4):
                optimizer.zero_grad()
                z = net(x)
                nn.functional.binary_cross_entropy_with_logits(z, y).backward()
                optimizer.step()
                _, _guess = torch.max(z.data, 1)

        return findings(judged(train), "evaluation_code")

    found = [one for one in of(1) if "torch.max(z.data, 1)" in one]
    assert found == [
        "`torch.max(z.data, 1)` is always index 0: the model returns one value for each sample"
    ]
    assert not any("index 0" in one for one in of(3))


# What was looked at


def test_rules_that_had_nothing_to_judge_are_told_apart_from_those_that_could_not_look():
    report = judged(trained_by(lambda net, x: net(x).square().mean().backward()))
    skipped = {row.rule: row for row in report.unexamined}
    assert skipped["clipping_used"].reason == "nothing was clipped"
    assert not skipped["clipping_used"].unseen
    assert "gradients_used" in report.examined
    assert not set(report.examined) & set(skipped)

    def compiles(net, x):
        torch.compile(nn.Linear(2, 2))  # it is never called
        net(x).square().mean().backward()

    report = judged(trained_by(compiles))
    skipped = {row.rule: row for row in report.unexamined}
    assert skipped["clipping_used"].unseen
    assert skipped["eval_while_training"].unseen


@pytest.mark.parametrize("own", [True, False])
def test_a_target_with_a_gradient_moves_only_if_an_optimizer_has_its_parameters(own):
    """Q-learning: the target network may collect gradients that nobody uses."""

    def train():
        net = nn.Linear(6, 2)
        copied = nn.Linear(6, 2)
        target = net if own else copied
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(12):
            states, after = torch.randn(2, 16, 6)
            values = net(states).gather(1, torch.zeros(16, 1, dtype=torch.int64))
            wanted = torch.ones(16, 1) + 0.9 * target(after).max(1)[0].view(-1, 1)
            optimizer.zero_grad()
            nn.functional.mse_loss(values, wanted).backward()
            optimizer.step()
            if step % 4 == 0:
                copied.load_state_dict(net.state_dict())

    found = findings(judged(train), "loss_values")
    assert [message for message in found if "moves the target" in message] == (found if own else [])
    assert bool(found) is own
