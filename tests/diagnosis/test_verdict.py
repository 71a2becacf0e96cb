"""The verdict: which findings are folded, in which order they stand, and what each format shows."""

from __future__ import annotations

import json

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import nn

import hookcli
from hookcli.diagnosis.diagnose import with_verdict
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.report.encode import to_json
from hookcli.report.findings import Diagnosis
from hookcli.report.schema import from_json
from hookcli.rules.catalogue import CATALOGUE
from tests.formats.checks import row
from tests.formats.fabricate import LAYERS, report

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
RULES = st.sampled_from([
    "finite", "grad_exists", "uncalled_modules", "vanishing_gradient", "exploding_gradient",
    "grad_norm", "hooks_fired", "deterministic", "no such rule",
])  # fmt: skip
STATUSES = st.sampled_from(["fail", "pass", "skip", "error"])


def judged(*rows):
    return with_verdict(report("check", layers=LAYERS, checks=rows))


def diagnoses(*rows):
    return judged(*rows).diagnoses


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.builds(
            row,
            rule=RULES,
            target=NAMES,
            status=STATUSES,
            severity=st.sampled_from(["error", "warning"]),
            message=NAMES,
            fingerprint=st.text("0123456789abcdef", min_size=16, max_size=16),
        ),
        max_size=12,
    )
)
def test_every_finding_is_in_one_diagnosis_and_errors_come_first(rows):
    found = diagnoses(*rows) or ()
    held = [fingerprint for item in found for fingerprint in item.fingerprints]
    assert sorted(held) == sorted(r.fingerprint for r in rows if r.status == "fail")
    severities = [item.severity for item in found]
    assert severities == sorted(severities)
    assert all("\n" not in item.sentence for item in found)


def test_a_finding_that_does_not_count_is_in_no_diagnosis():
    assert diagnoses(row("finite", "fc", "skip"), row("deterministic", "", "pass")) == ()


def test_the_row_that_explains_stands_for_its_cause():
    (first,) = diagnoses(
        row("grad_exists", "fc", severity="warning", message="weight got none", cause="cut"),
        row("grad_path", "", severity="warning", message="'fc' is cut off", cause="cut"),
    )
    assert (first.cause, first.sentence) == ("cut", "'fc' is cut off")
    assert first.rules == ("grad_path", "grad_exists")


def test_a_training_that_fails_follows_from_what_stops_the_gradient():
    first, other = diagnoses(
        row("overfits_one_batch", "", message="30 steps bring the loss from 2 to 2"),
        row("grad_path", "fc", severity="warning", message="'fc' is cut off", cause="cut_off"),
        row("batch_independent", "", severity="warning", message="samples are coupled"),
    )
    assert (first.severity, first.sentence) == ("error", "'fc' is cut off")
    assert first.rules == ("grad_path", "overfits_one_batch")
    assert other.rules == ("batch_independent",)
    (alone,) = diagnoses(row("overfits_one_batch", "", message="30 steps bring the loss to 2"))
    assert alone.cause == "overfits_one_batch"


class Shifted(nn.Module):
    """A product that is zero for another reason, and a zero that is added."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.shift = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return self.fc(x).clamp(50, 60) + self.shift


def test_a_zero_that_is_added_stops_no_gradient():
    report = hookcli.check(Shifted(), inputs=torch.randn(3, 4))
    assert "zero_initialization" not in {item.cause for item in report.diagnoses}


def test_units_behind_zero_weights_are_not_a_problem_of_their_own():
    model = nn.Sequential(nn.Linear(4, 32), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))
    nn.init.zeros_(model[1].weight)
    nn.init.constant_(model[1].bias, -1.0)
    report = hookcli.check(model, inputs=torch.randn(32, 4))
    assert report.diagnoses[0].cause == "zero_initialization"
    assert "dead_units" not in {rule for one in report.diagnoses for rule in one.rules}


def test_a_nan_explains_gradients_of_a_wrong_size():
    (first,) = diagnoses(
        row("grad_norm", "", severity="warning", message="the norm is above 1"),
        row("exploding_gradient", "fc", severity="warning", message="it explodes"),
        row("finite", "fc", message="NaN first appears in 'fc'"),
    )
    assert first.cause == "finite"
    assert set(first.rules) == {"finite", "exploding_gradient", "grad_norm"}


def test_a_message_that_names_a_layer_has_no_other_name_before_it():
    (first,) = diagnoses(row("finite", "head", message="NaN first appears in 'fc'"))
    assert first.sentence == "NaN first appears in 'fc'"
    (first,) = diagnoses(row("finite", "head", message="it contains NaN"))
    assert first.sentence == "'head': it contains NaN"


def test_a_module_that_never_ran_explains_its_missing_gradients():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.spare = nn.Linear(4, 2), nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))

        def forward(self, x):
            return self.fc(x)

    (first,) = hookcli.grads(Net(), torch.randn(2, 4)).diagnoses
    assert first.sentence == "'spare' never ran, so its 4 parameters got no gradient"
    assert set(first.rules) == {"uncalled_modules", "grad_exists"}


def test_a_later_zero_is_not_blamed_for_an_earlier_unused_layer():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.zeros(1))
            self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            return self.first(x).relu() + self.scale * self.second(x)

    (first,) = hookcli.grads(Net(), torch.randn(8, 4)).diagnoses
    assert first.cause == "zero_initialization"
    assert first.sentence.startswith("2 parameters got zero gradients because 'scale' is zero")
    net = Net()
    net(torch.randn(8, 4)).sum().backward()
    assert not net.second.weight.grad.any()
    assert net.first.weight.grad.any()


def test_inspect_has_no_verdict():
    data = json.loads(hookcli.inspect(nn.Linear(4, 2), torch.randn(2, 4)).to_json())
    assert "diagnoses" not in data
    assert "examined" not in data


def test_a_report_without_findings_names_what_was_looked_for():
    good = hookcli.grads(nn.Linear(4, 2), torch.randn(2, 4))
    assert good.diagnoses == ()
    assert "grad_exists" in good.examined
    count = len(good.examined)
    assert f"\nno problem found; {count} rules looked at values, gradients," in str(good)


def test_a_rule_that_looked_for_nothing_has_a_reason():
    reasons = {
        one.rule: one.reason for one in hookcli.grads(nn.Linear(4, 2), torch.randn(2, 4)).unexamined
    }
    assert reasons["vanishing_gradient"] == "fewer than 4 layers have weights with a gradient"
    assert reasons["double_softmax"] == "the run has no loss of your model: pass `--loss`"
    assert reasons["deterministic"] == "hookcli check judges it"
    assert reasons["causal"] == "it is judged only if a configuration names it"
    assert not {"output_shape", "dtype", "loss_falls"} & reasons.keys()


def test_each_rule_of_the_verdict_looked_or_has_a_reason():
    report = hookcli.check(nn.Linear(4, 2), inputs=(torch.randn(2, 4),))
    reasons = {one.rule for one in report.unexamined}
    own = {rule.name for rule in CATALOGUE.values() if rule.diagnoses or rule.safe}
    assert own <= {*report.examined, *reasons}
    assert not reasons & {*report.examined}


@pytest.mark.parametrize("name", ["table", "tree", "markdown"])
@pytest.mark.parametrize("command", ["grads", "trace", "check"])
@pytest.mark.parametrize("width", [40, 80, 200])
def test_three_sentences_stand_above_the_numbers(name, command, width):
    if name == "tree" and command == "check":
        pytest.skip("a check has no tree")
    items = tuple(
        Diagnosis("finite", "error", f"'layer{i}' is <wrong> \x1b[31m", "mend it", f"layer{i}",
                  "net.py:3", ("finite",), ("0" * 16,))
        for i in range(5)
    )  # fmt: skip
    made = report(command, layers=LAYERS, diagnoses=items, examined=("finite",))
    text = FORMATS[name].render(made, View(width=width))
    assert [f"layer{i}" in text for i in range(5)] == [True, True, True, False, False]
    assert "2 more problems" in text
    assert "\x1b" not in text
    assert ("<wrong>" in text) is (name != "markdown")


def test_the_json_holds_all_and_is_read_again():
    made = judged(*(row("finite", f"l{i}", fingerprint=f"{i}" * 16) for i in range(5)))
    assert from_json(to_json(made)).diagnoses == made.diagnoses


class Chain(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 2)

    def forward(self, x):
        return self.c(self.b(self.a(x).tanh()).tanh())


def with_action(folder, action):
    config = folder / "hooks.yaml"
    config.write_text(f"hooks: [{{kind: forward, at: b, do: {action}}}]\n")
    return hookcli.grads(Chain(), torch.randn(3, 4), config=config).diagnoses


def test_what_a_hook_of_the_configuration_zeroes_is_its_effect(tmp_path):
    first, *others = with_action(tmp_path, "zero")
    assert first.cause == "configured_hook"
    assert first.sentence.startswith("a hook of the configuration sets the output of 'b' to zero")
    assert set(first.rules) == {"low_variance", "grad_exists"}
    assert not [one for one in others if one.severity != "note"]


def test_a_hook_that_leaves_values_explains_nothing(tmp_path):
    found = with_action(tmp_path, "{scale: 2.0}")
    assert all(one.cause != "configured_hook" for one in found)
