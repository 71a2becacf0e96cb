"""`code_mistakes`: code does what its names and its definition say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hookcli.report.report import Report
from hookcli.report.training import TrainingReport
from hookcli.rules.patterns.user_code import UNREAD_CODE
from hookcli.rules.rule import Options, Rule, RuleFinding, passed, skipped
from hookcli.rules.script.facts import facts_of, without_findings
from hookcli.rules.select import rows_with
from hookcli.spec.checks import request_probe

PROBE, FACT = "code_mistakes", "code_mistake"


class _Sentence(NamedTuple):
    """What is said of a mistake; `{what}` and `{other}` are code."""

    message: str
    advice: str
    is_note: bool = False


_SENTENCES = {
    "uncalled_method": _Sentence(
        "`{what}` names a method and does not call it: the line has no effect",
        "add parentheses: `{what}()`",
    ),
    "lost_comparison": _Sentence(
        "`{what}` compares and assigns nothing: the line has no effect",
        "assign with one `=`",
    ),
    "or_of_types": _Sentence(
        "`{what}` is `{other}`: isinstance looks at the first type only",
        "pass a tuple of types",
    ),
    "or_of_texts": _Sentence(
        "`{what}` is always true, since {other} alone is true",
        "compare with each text, or write `in (...)`",
    ),
    "misspelled": _Sentence(
        "`{what}` is a new attribute, which PyTorch does not read; a tensor has `{other}`",
        "assign to `{other}`",
    ),
    "mode_method": _Sentence(
        "`{what}` reads the method `train`, which is always true: eval mode is treated as training",
        "read `self.training`",
    ),
    "first_pass": _Sentence(
        "`{other}` is inside of the loop `{what}`, which so ends after its first pass",
        "move the return behind the loop",
    ),
    "overwritten_module": _Sentence(
        "a loop assigns each new module to `{other}`: only the last one is kept",
        "append the modules to an `nn.ModuleList`",
    ),
    "made_twice": _Sentence(
        "`{what}` is made at line {other} and again here: the first module is lost",
        "give the modules different names, or remove one",
        is_note=True,
    ),
    "two_names": _Sentence(
        "`{what}` and `{other}` are one module: forward calls it twice, with the same weights",
        "construct a module for each, or give both one name",
        is_note=True,
    ),
    "unused_dropout": _Sentence(
        "`{what}` ({other}) is made, and nothing calls it: no value is dropped",
        "call it in forward, or remove it",
        is_note=True,
    ),
    "lost_random": _Sentence(
        "`{what}` is random and no buffer: state_dict() does not have it, so a loaded model gets "
        "other values",
        "register it with `self.register_buffer`",
        is_note=True,
    ),
    "unread_gradient": _Sentence(
        "the backward of {what} never reads the gradient `{other}`: it is right only if that is 1",
        "multiply the derivative by `{other}`",
    ),
    "cut_fraction": _Sentence(
        "`{other}` makes integers of the quotient `{what}`: its fraction is cut off",
        "round it, divide by `//`, or use a dtype with fractions",
        is_note=True,
    ),
    "swapped_arguments": _Sentence(
        "`{what}` passes arguments in another order than the parameters {other}, by their names",
        "exchange the arguments, or pass them by name",
    ),
    "plain_for_log": _Sentence(
        "`{what}` passes a value for the parameter `{other}`, but one is a logarithm by its name",
        "pass the logarithm where it is expected",
    ),
    "saved_method": _Sentence(
        "`{what}` is saved as a method, not as the weights that it returns",
        "call it: `{what}()`",
    ),
    "split_order": _Sentence(
        "train_test_split returns both parts of the first array, then of the second, but `{what}` "
        "has another order",
        "assign to train and test of the first array, then of the second",
    ),
    "fit_to_tests": _Sentence(
        "`{what}` fits `{other}` again, to the test data: both parts are scaled differently",
        "call `{other}.transform` for the test data",
    ),
    "mixed_splits": _Sentence(
        "`{what}` pairs values of the training split with values of the test split",
        "pass inputs and labels of one split",
    ),
    "other_split": _Sentence(
        "'{what}' reads `{other}`: what is measured with it was trained on",
        "pass the data set of the test split, or rename the loader",
        is_note=True,
    ),
    "other_transform": _Sentence(
        "'{what}' has `{other}`, the transform of the training split",
        "pass a transform without random changes",
        is_note=True,
    ),
    "separate_shuffles": _Sentence(
        "`{what}` and `{other}` are shuffled apart, each in its own order: labels do not belong to "
        "their samples any more",
        "index both with one permutation",
    ),
    "before_shuffle": _Sentence(
        "'{what}' is taken before the shuffle, and {other} after it: they are in different orders",
        "shuffle first, then take both",
    ),
    "earlier_rewards": _Sentence(
        "`{what}` runs from the first reward to the last: each sum is of the rewards before an "
        "action, not after it",
        "loop over `reversed(rewards)`, and reverse the list of returns",
    ),
    "reversed_returns": _Sentence(
        "`{what}` is collected from the last reward to the first, and never reversed: actions get "
        "the returns of others",
        "reverse the list, or use `insert(0, ...)`",
    ),
    "rewards_alone": _Sentence(
        "`{what}` in {other} discounts each reward alone: the rewards that follow an action are "
        "not added up",
        "add up the discounted rewards from each step on",
    ),
    "inverted_exploration": _Sentence(
        "`{what}` chooses the best action with the probability epsilon, and a random one otherwise",
        "exchange the branches",
    ),
    "value_of_end": _Sentence(
        "`{what}` counts the next value only where `{other}` is true, which is where there is none",
        "multiply by `(1 - {other})`",
    ),
    "floored_fraction": _Sentence(
        "`{what}` is divided from left to right, so that `//` takes the floor of a fraction",
        "write `{other}`",
    ),
    "variance_twice": _Sentence(
        "`{what}` is the variance of variances, not that over both dimensions",
        "pass all dimensions at once, as in `x.var((2, 3))`",
    ),
    "batch_mean": _Sentence(
        "`{other}` in `{what}` is one mean over the whole batch: samples affect each other",
        "subtract the mean of the advantages over the actions, `adv.mean(1, keepdim=True)`",
    ),
    "noise_variance": _Sentence(
        "`{what}` multiplies the noise by the variance `{other}`, not by its root",
        "multiply by the square root",
    ),
    "no_tanh": _Sentence(
        "the log-probability in {other} is that of a tanh, which `{what}` does not pass through",
        "return the tanh of the sample, or remove the correction",
    ),
    "equal_waves": _Sentence(
        "`{what}` is {other} of the angle, as the other half of the features is",
        "use the sine for one half and the cosine for the other",
    ),
    "no_shortcut": _Sentence(
        "{what} is named as a residual block, and its forward adds nothing to its input",
        "return the sum of input and branch, or rename the class",
        is_note=True,
    ),
    "dice_factor": _Sentence(
        "`{what}` has no factor 2: two equal masks have a Dice coefficient of 0.5",
        "multiply the intersection by 2",
        is_note=True,
    ),
    "wide_union": _Sentence(
        "`{what}` counts the intersection twice in the union: two equal masks have an IoU of 0.5",
        "subtract the intersection from the sum of the sizes",
        is_note=True,
    ),
    "focal_average": _Sentence(
        "`{what}` is averaged over the samples before the focal loss takes `{other}` for a "
        "probability: all samples get one weight",
        'pass reduction="none", and average at the end',
    ),
    "focal_power": _Sentence(
        "`{what}` gives more weight to what is classified well; a focal loss has "
        "`(1 - p) ** gamma`",
        "subtract the probability of the label from 1",
    ),
    "swapped_normalization": _Sentence(
        "`{what}` subtracts the deviation and divides by the mean",
        "exchange mean and deviation",
    ),
    "worse_kept": _Sentence(
        "`{what}` keeps the worst value as `{other}`",
        "turn the comparison around",
    ),
    "count_by_batches": _Sentence(
        "`{what}` divides a number of samples by that of batches",
        "divide by the number of samples, `len(loader.dataset)`",
        is_note=True,
    ),
    "inverted_padding": _Sentence(
        "`{what}` is true for tokens: attention ignores those and reads the padding",
        "compare with `==`; True means ignored",
    ),
}


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each mistake in the code of the classes that ran."""
    if report.training is not None:
        return  # the whole training is judged
    found = rows_with(report, PROBE, "mistake")
    for name, value in found:
        yield _finding(name, value["mistake"], value["what"], value["other"], value["place"])
    if not found:
        looked = any(one.probe == PROBE for one in report.measurements)
        message = "the code of the model has no known mistake"
        yield passed(message) if looked else skipped(UNREAD_CODE)


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each mistake in the files of the script."""
    facts = facts_of(report, FACT)
    for fact in facts:
        values = fact.values
        yield _finding("", fact.target, values["what"], values["other"], fact.place)
    if not facts:
        yield without_findings(
            report, (FACT,), "the files of the script have no known mistake", "no step was made"
        )


def _finding(name: str, mistake: str, what: str, other: str, place: str | None) -> RuleFinding:
    sentence = _SENTENCES[mistake]
    message, advice = (text.format(what=what, other=other) for text in sentence[:2])
    return RuleFinding(
        "fail", name, f"{mistake} {what}", message, place=place,
        severity="note" if sentence.is_note else None, cause=f"{mistake} {place}", advice=advice,
    )  # fmt: skip


RULE = Rule(
    name="code_mistakes",
    severity="warning",
    diagnoses=True,
    of_training=True,
    looks_at="the code",
    says="code does what its names and definitions say",
    computes="Reads the source of the classes whose modules ran, and of a training all files of "
    "the user that are imported. Finds what is written otherwise than it is meant: methods that "
    "are named and not called; conditions that are always true; returns in the first pass of a "
    "loop; modules that overwrite each other; splits and labels that are mixed up; returns of "
    "reinforcement learning that add up the wrong rewards; and formulas that differ from the "
    "definition of what their names say, such as a Dice coefficient without the factor 2. What is "
    "often meant is a note.",
    formula="the meaning of the code = the meaning of its names",
    source="pyflakes and flake8-bugbear, for Python alone; the issues in docs/measurements",
    fails="optimizer.zero_grad; if self.train: ...; x_train, y_train, x_test, y_test = "
    "train_test_split(x, y)",
    mend="optimizer.zero_grad(); if self.training: ...",
    example="{rule: code_mistakes, severity: error}",
    watches=lambda options: (request_probe(PROBE),),
    judge=judge,
    judge_run=judge_run,
)
