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
    "split_samples": _Sentence(
        "`{what}` splits dimension 0, the samples, as no dimension is given",
        "pass `dim=-1`",
    ),
    "padding_order": _Sentence(
        "`{what}` has the amounts of the height first, but F.pad takes the last dimension first",
        "pass (left, right, top, bottom)",
    ),
    "grid_order": _Sentence(
        "the grid of grid_sample is `{what}`, but the function takes (x, y)",
        "stack x first",
    ),
    "open_one_hot": _Sentence(
        "`{what}` has no num_classes: the largest value of each batch decides the width",
        "pass `num_classes`",
        is_note=True,
    ),
    "wrapped_target": _Sentence(
        "`{what}` shifts a target and moves its last token to the front, where a start belongs",
        "put the start token there: `torch.cat([start, y[:, :-1]], dim=1)`",
        is_note=True,
    ),
    "equal_parts": _Sentence(
        "{what} are joined, and both are `{other}`: each element meets itself only",
        "use `repeat_interleave` for one of both",
    ),
    "exchanged_meshgrid": _Sentence(
        '`{what}` gets the columns first: with indexing="ij" its results are [width, height]',
        'pass `indexing="xy"`, or the rows first',
    ),
    "frozen_embedding": _Sentence(
        "`{what}` freezes the vectors, as it does by default: they do not train",
        "pass `freeze=False`, unless they must stay as they are",
        is_note=True,
    ),
    "whole_circle": _Sentence(
        "`{what}` has both ends of the circle, which are the same direction",
        "use `torch.linspace(0, 2 * torch.pi, n + 1)[:-1]`",
        is_note=True,
    ),
    "lost_dimension": _Sentence(
        "`{what}` does not keep the dimension of `{other}`: each row gets the values of others",
        "pass `keepdim=True`",
    ),
    "init_after_norm": _Sentence(
        "`{what}` comes after weight_norm at line {other}, which computes the weights from other "
        "parameters: what it writes is lost",
        "initialize before `weight_norm`",
        is_note=True,
    ),
    "scale_in_buffer": _Sentence(
        "`{what}` has the name of a weight and is a buffer: it does not train",
        "make it an `nn.Parameter`, unless it must stay as it is",
        is_note=True,
    ),
    "unscaled_drop": _Sentence(
        "`{what}` drops values in training and does not scale the others: in eval mode, all values "
        "together are larger",
        "divide by the probability of keeping, as dropout does",
        is_note=True,
    ),
    "temperature_factor": _Sentence(
        "`{what}` multiplies by a temperature below 1: all shares become nearly equal",
        "divide by it",
    ),
    "graphless_result": _Sentence(
        "`{other}`, which forward returns, is from `{what}`: it has no graph, so that a loss of it "
        "trains nothing",
        "pass `create_graph=self.training`",
        is_note=True,
    ),
    "rate_attribute": _Sentence(
        "`{what}` is a new attribute of the optimizer, which no step reads",
        "assign to the `{other}` of each of `optimizer.param_groups`",
    ),
    "average_not_updated": _Sentence(
        "nothing calls `update_parameters` of `{what}`: the averaged model has its first weights",
        "call `{what}.update_parameters(model)` after each step of the optimizer",
    ),
    "average_statistics": _Sentence(
        "the batch norms of `{what}` have the running statistics of the last weights, and not of "
        "their average: nothing calls `update_bn`",
        "call `torch.optim.swa_utils.update_bn(loader, {what})` before it is evaluated",
        is_note=True,
    ),
    "state_not_passed": _Sentence(
        "`{what}` runs in a loop, and no pass gets the state that it returns: each begins with "
        "`{other}`",
        "assign the state to `{other}`",
    ),
    "unread_sum": _Sentence(
        "nothing reads `{other}` after `{what}`: the sum has no effect",
        "assign the sum to the name that is returned",
    ),
    "focal_side": _Sentence(
        "the focal factor of `{what}` is a power of `{other}`, whose logarithm it weighs: what is "
        "predicted well counts most",
        "use a power of the probability of the other class",
    ),
    "shifted_logsigmoid": _Sentence(
        "`{what}` differs from the logarithm of 1 - sigmoid({other}), which is that of "
        "sigmoid(-{other})",
        "use `F.logsigmoid(-{other})`",
    ),
    "uncalled_method": _Sentence(
        "`{what}` names a method and does not call it: the line has no effect",
        "add parentheses: `{what}()`",
    ),
    "lost_comparison": _Sentence(
        "`{what}` compares and assigns nothing: the line has no effect",
        "assign with one `=`",
    ),
    "lost_sum": _Sentence(
        "`{what}` is computed, and nothing gets the result: the line has no effect",
        "assign the result",
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
        "`{other}` is inside of the loop `{what}`, so the loop ends after its first pass",
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
    "unused_layer": _Sentence(
        "`{what}` ({other}) is made, and nothing calls it: it has no effect",
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
    "cancelled_sum": _Sentence(
        "`{what}` equals `{other}`: the other tensor cancels out, so no gradient reaches it",
        "detach the difference: `x + (y - x).detach()`",
    ),
    "joined_twice": _Sentence(
        "`{what}` joins `{other}` with itself: another part may be meant",
        "join the other part, such as the state of the other direction",
    ),
    "state_cut": _Sentence(
        "`{what}` detaches `{other}` in each step of a loop: no gradient reaches earlier steps",
        "use `{other}` as it is; detach it between batches, outside of the loop",
    ),
    "tiny_fill": _Sentence(
        "`{what}` replaces scores by {other} before a softmax: their probability is not 0",
        "use `float('-inf')`",
    ),
    "best_not_copied": _Sentence(
        "`{what}` makes no copy: later steps change `{other}` too",
        "keep `copy.deepcopy(...)`, or save it to a file",
    ),
    "unset_epoch": _Sentence(
        "nothing calls `set_epoch` of `{what}`: each epoch has the same order of samples",
        "call `sampler.set_epoch(epoch)` before each epoch",
    ),
    "unsaved_schedule": _Sentence(
        "a checkpoint has `{what}`, and not the state of `{other}`: a resumed training starts the "
        "schedule of the learning rate again",
        "save and load `{other}.state_dict()` too",
    ),
    "overwritten_setting": _Sentence(
        "`{what}` in forward replaces what the constructor has set: the next call picks from the "
        "values of this batch",
        "assign it to a local variable",
    ),
    "predicts_in_train_mode": _Sentence(
        "`{what}` runs a model with loaded weights in train mode, with dropout or the statistics "
        "of this batch: nothing calls `{other}.eval()`",
        "call `{other}.eval()` first",
    ),
    "one_for_all_layers": _Sentence(
        "`{what}` is one module, which a loop calls `{other}` times: all of these layers share its "
        "weights",
        "construct one module for each, in an `nn.ModuleList`",
        is_note=True,
    ),
    "nll_of_logits": _Sentence(
        "`{what}` takes log-probabilities, and nothing in this file takes a log_softmax",
        "use cross_entropy, or pass `log_softmax(outputs, dim=1)`",
    ),
    "mean_by_samples": _Sentence(
        "`{what}` adds the mean of a batch, and the sum is divided by `{other}`, the number of "
        "samples",
        "divide by the number of batches, or add sums",
    ),
    "used_up": _Sentence(
        "`{other}` is the generator `{what}`: its second use finds nothing, as the first one has "
        "used it up",
        "make a list of it: `list({what})`",
    ),
    "hook_result": _Sentence(
        "the hook `{what}` computes another gradient and does not return it: the gradient stays as "
        "it is",
        "return the new gradient",
    ),
    "first_group": _Sentence(
        "`{what}` changes the learning rate of the first group only: the optimizer has several",
        "change all: `for group in optimizer.param_groups`",
    ),
    "other_quantity": _Sentence(
        "`{what}` is passed for {other}: its name is that of another quantity",
        "pass what the parameter is made for",
    ),
    "swapped_arguments": _Sentence(
        "`{what}` passes arguments in another order than the parameters {other}, by their names",
        "exchange the arguments, or pass them by name",
    ),
    "swapped_roles": _Sentence(
        "`{what}` passes prediction and target in another order than the parameters {other}",
        "exchange the arguments, or pass them by name",
    ),
    "plain_for_log": _Sentence(
        "`{what}` passes a value for the parameter `{other}`, but one is a logarithm by its name",
        "pass the logarithm where it is expected",
    ),
    "changed_input": _Sentence(
        "`{what}` changes the caller's tensor in place: a second call with it gets other values",
        "write `{other} = {other} ...`, which makes a new tensor",
        is_note=True,
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
    "unpacked_order": _Sentence(
        "`{what}` are unpacked in another order than they are stored: {other}",
        "unpack them in the order in which they are stored",
    ),
    "returned_order": _Sentence(
        "`{what}` gets the results in another order than the function returns them: {other}",
        "use the order of the return statement",
    ),
    "class_numbers": _Sentence(
        "`{what}` numbers the classes in another order than `{other}`",
        "make one of the other, as in `dict(zip(names, range(len(names))))`",
    ),
    "joined_dimensions": _Sentence(
        "`{what}` joins dimensions that are not next to each other in {other}: their elements are "
        "mixed with those in between",
        "permute the dimensions first, so that those to join are next to each other",
    ),
    "crossed_sizes": _Sentence(
        "`{what}` and `{other}` divide x by the height and y by the width",
        "divide x by the width, and y by the height",
    ),
    "overwritten_total": _Sentence(
        "'{what}' is the sum over the batches, and gets the value of a batch here: `{other}` adds "
        "to the last batch only",
        "give the value of the batch another name",
    ),
    "last_batch": _Sentence(
        "'{what}' is the value of the last batch, and is returned with means over all batches",
        "return the mean of what the loop has collected",
        is_note=True,
    ),
    "counter_not_reset": _Sentence(
        "`{what}` counts bad rounds, and a new best value does not reset it: bad rounds "
        "add up over the whole training",
        "set `{what} = 0` where a better value is found",
    ),
    "best_not_updated": _Sentence(
        "`{what}` keeps the value of line {other}: each value that is better than that one counts "
        "as the best",
        "assign the better value to `{what}` where it is found",
    ),
    "loaders_apart": _Sentence(
        "`{what}` and `{other}` shuffle their samples apart: labels do not belong to their inputs",
        "return inputs and labels from one Dataset, or pass shuffle=False",
    ),
    "uncalled_model": _Sentence(
        "'{other}' computes a loss and never calls `{what}`: the loss is not that of its outputs",
        "compute the outputs by `{what}(...)`",
    ),
    "loss_by_samples": _Sentence(
        "`{what}` adds up mean losses of batches, and `{other}` counts samples: the figure is too "
        "small, by the number of samples in a batch",
        "divide by the number of batches, or add `loss.item() * len(x)`",
        is_note=True,
    ),
    "metric_not_reset": _Sentence(
        "nothing resets `{what}`: its value in an epoch covers all earlier epochs, too",
        "call `{what}.reset()` when an epoch begins",
    ),
    "logits_at_half": _Sentence(
        "`{what}` compares logits with 0.5, which is a probability of 0.62",
        "compare logits with 0, or their sigmoid with 0.5",
    ),
    "penalty_without_abs": _Sentence(
        "a penalty adds up `{what}` of parameters without an absolute value: it is lowest for "
        "large negative parameters",
        "use `p.abs().sum()`, or `p.square().sum()`",
    ),
    "one_for_folds": _Sentence(
        "`{what}` is trained on one fold after another: later folds test it on samples that it was "
        "trained on",
        "construct the model and its optimizer anew for each fold",
    ),
    "batch_scores": _Sentence(
        "`{what}` adds up the {other} of each batch: their mean is not the score of all samples",
        "collect predictions and labels of all batches, and compute the score once",
        is_note=True,
    ),
    "hard_scores": _Sentence(
        "`{what}` gets classes, as `{other}`, in place of scores: the curve has one point",
        "pass probabilities or logits",
    ),
    "repeated_split": _Sentence(
        "`{what}` splits data in which line {other} has repeated samples: copies of one sample "
        "may be trained on and held out",
        "split first, then repeat samples of the training alone",
    ),
    "shared_transform": _Sentence(
        "`{what}` sets the transform of '{other}' too: both subsets are of one data set",
        "construct the data set twice, each with its own transform",
    ),
    "other_loader": _Sentence(
        "`{what}` divides a sum over the batches of `{other}` by the number of other batches",
        "divide by `len({other})`",
    ),
    "divided_twice": _Sentence(
        "`{what}` divides '{other}' by the number that it is divided by already",
        "divide once",
    ),
    "divided_mean": _Sentence(
        "`{what}`: '{other}' is a mean over the samples already, by default, and is divided by "
        "their number again",
        'do not divide it, or pass reduction="sum"',
    ),
    "mean_of_one": _Sentence(
        "`{what}` is over dimension {other}, which a slice has cut to one element",
        "remove the slice",
    ),
    "equal_worker_seeds": _Sentence(
        "'{what}' seeds each worker with the same number, in each epoch: random changes repeat",
        "add `{other}` and `torch.initial_seed()` to the seed",
    ),
    "state_left_behind": _Sentence(
        "`{other}` loads a checkpoint, and nothing reads the state of its '{what}': it is reset",
        "load the state of the optimizer and of the scheduler too",
        is_note=True,
    ),
    "turned_alone": _Sentence(
        "`{what}` turns the image at random, and '{other}' stays as it was",
        "change '{other}' in the same way",
    ),
    "temperature": _Sentence(
        "the softmax gets `{what}`, and other scores are divided by `{other}`",
        "divide by the temperature at both places",
    ),
    "turned_apart": _Sentence(
        "`{what}` and `{other}` are turned by draws of their own: they do not match any more",
        "draw once, and change both in the same way",
    ),
    "own_range": _Sentence(
        "`{what}` scales by its own range, and `{other}` by another: equal values differ after it",
        "keep the statistics of the training data, and use them for both",
    ),
    "state_before_schedule": _Sentence(
        "`{what}` comes before {other} is constructed, which sets the first learning rate again",
        "construct the scheduler first, then load both states",
    ),
    "changed_before_read": _Sentence(
        "`{what}` reads '{other}' after it was changed in place in the same line",
        "compute the new tensor without methods in place",
    ),
    "separate_permutations": _Sentence(
        "`{what}` and `{other}` draw two permutations: labels do not belong to their samples",
        "draw one permutation, and index both with it",
    ),
    "no_self_loops": _Sentence(
        "'{what}' normalizes a graph without self-loops: a node gets the features of its "
        "neighbors only",
        "add the identity to the adjacency matrix first",
        is_note=True,
    ),
    "swapped_states": _Sentence(
        "`{what}` are the states of an LSTM, which returns the hidden state first, then the cell",
        "exchange the names: `(h, c)`",
    ),
    "swapped_values": _Sentence(
        "`{what}` passes its arguments in another order than query, key, value",
        "pass query, key and value in this order",
    ),
    "heads_first": _Sentence(
        "`{what}` splits the features of each position before they are transposed: heads get "
        "parts of other positions",
        "view as [batch, positions, heads, size] and then `transpose(1, 2)`",
    ),
    "heads_in_front": _Sentence(
        "`{what}` joins heads that are in front of the positions: values of positions are mixed",
        "`transpose(1, 2)` before the view",
    ),
    "implicit_softmax": _Sentence(
        "`{what}` has no dimension: it is 0 for tensors of 1 or 3 dimensions, and 1 for others",
        "pass `dim=-1`, or the dimension of the classes",
        is_note=True,
    ),
    "packed_by_time": _Sentence(
        "`{what}` takes dimension 0 for time, and the layers of the class have batch_first=True",
        "pass batch_first=True",
    ),
    "rising_frequencies": _Sentence(
        "`{what}` grows with the feature up to 10000: the frequencies of a position code must fall",
        "put a minus in front of the logarithm",
    ),
    "blended_labels": _Sentence(
        "`{what}` interpolates between the labels '{other}': new classes appear at borders",
        'pass mode="nearest"',
    ),
    "not_turned_back": _Sentence(
        "`{what}` are states of the reversed sequence, joined in its order: each position gets "
        "those of its mirror",
        "turn them back first: `{what}.flip(1)`",
    ),
    "kept_from_eval": _Sentence(
        "`{what}` in eval mode changes the module itself: it stays so when training goes on",
        "use a local variable in place of `{other}`",
    ),
    "init_of_another": _Sentence(
        "`{what}` is initialized whatever module '{other}' is: the others keep their values",
        "initialize `{other}.weight`",
    ),
    "buffers_in_list": _Sentence(
        "`{what}` keeps the buffer `{other}` in a plain list: `to()` replaces the buffer, and not "
        "the entry of the list",
        "read the buffers by their names in forward",
    ),
    "wrong_rate": _Sentence(
        "`{what}` does not fit its name: {other}",
        "use the definition",
    ),
    "wrong_error": _Sentence(
        "`{what}` is an error of another kind than its name: {other}",
        "use the definition, or another name",
        is_note=True,
    ),
    "weight_by_frequency": _Sentence(
        "`{what}` gives the more frequent classes more weight",
        "use `{other}`",
    ),
    "ratio_of_logs": _Sentence(
        "`{what}` is computed of logarithms: the ratio of probabilities is exp of their difference",
        "use `torch.exp(new - old)`",
    ),
    "rising_actor": _Sentence(
        "`{what}` is minimized, so that the actor learns the actions of the lowest value",
        "put a minus in front of it",
    ),
    "target_copied": _Sentence(
        "`{what}` overwrites what is trained with its own target network",
        "load the state of the trained network into the target",
    ),
    "exchanged_mixture": _Sentence(
        "`{what}` gives the share {other} of the first samples to the labels of the second",
        "exchange the labels",
    ),
    "turned_distance": _Sentence(
        "`{what}` is small where the negative is near and the positive is far",
        "turn `{other}` around",
    ),
    "target_entropy": _Sentence(
        "`{what}` is positive: the target entropy of continuous actions is minus their number",
        "put a minus in front of it",
    ),
    "own_scale": _Sentence(
        "`{what}` is normalized with its own mean and deviation, and `{other}` with others",
        "use the mean and deviation of the training data for both",
        is_note=True,
    ),
    "scaled_alone": _Sentence(
        "`{what}` is divided by 255, and `{other}` is not",
        "divide both",
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
    "shifted_factor": _Sentence(
        "`{what}` subtracts 1 from the factor, not from the product",
        "write `{other}`",
    ),
    "limited_log": _Sentence(
        "`{what}` is never negative: the deviation is at least 1",
        "remove the {other}: the log of a deviation has no limit",
    ),
    "entropy_added": _Sentence(
        "`{what}` is minimized, and so is the entropy: the policy stops exploring",
        "subtract the entropy",
    ),
    "squared_variance": _Sentence(
        "`{what}` is the square of a variance; a standard deviation is its root",
        "use `sqrt`",
    ),
    "batch_mean": _Sentence(
        "`{other}` in `{what}` is one mean over the whole batch: samples affect each other",
        "subtract the mean of the advantages over the actions, `adv.mean(1, keepdim=True)`",
    ),
    "noise_variance": _Sentence(
        "`{what}` multiplies the noise by its variance `{other}`, not by the root of it",
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
    "narrow_union": _Sentence(
        "`{what}` is the size of one mask, not of the union of two: the quotient is a recall",
        "add both sizes and subtract the intersection",
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
    "bound_of_log": _Sentence(
        "`{what}` has the lower bound {other}, which has no effect: exp is never negative",
        "limit the logarithm before exp, or give bounds of the deviation itself",
    ),
    "sum_of_shares": _Sentence(
        "`{what}` is constant: a softmax sums to 1 over its own dimension",
        "sum over the other dimension, or remove one of the two",
    ),
    "averaged_logs": _Sentence(
        "`{what}` multiplies returns by one mean `{other}`: no action gets its own return",
        "multiply each log-probability by its return, and average the products",
    ),
    "no_unfreeze": _Sentence(
        "`{what}` runs only if `{other}` is true already: frozen parameters stay frozen",
        "remove the condition",
    ),
    "wrong_side": _Sentence(
        "`{what}` gives each step its own value, not that of the step before: it pads the end",
        "pad at the beginning: the first step has none before it",
    ),
    "unread_end": _Sentence(
        "`{what}` adds the value of the next state at the end of an episode too: nothing reads "
        "`{other}`",
        "multiply the value of the next state by `1 - {other}`",
    ),
    "unread_train_mask": _Sentence(
        "`{what}` uses all nodes, also those of the test: only metrics read `{other}`",
        "index outputs and labels with `{other}`",
    ),
    "size_of_other_split": _Sentence(
        "`{what}` in `{other}` divides by the size of another data set than that of the loop",
        "divide by the size of the data of the loop",
    ),
    "count_of_last_batch": _Sentence(
        "`{what}` divides the hits of the last batch by the size of all data",
        "count the hits in the loop",
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
            report,
            (FACT,),
            "the files of the script have no known mistake",
            "no step was made, or the files are too long",
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
    computes="Reads the source of the classes whose modules ran, with the functions in their "
    "files, and of a training the files of the user that are imported, up to 250,000 characters. "
    "Finds what is written otherwise than it is meant: methods that are named and not called; "
    "conditions that are always true; returns in the first pass of a loop; modules that overwrite "
    "each other; splits, labels and arguments that are mixed up; sums and counters of other "
    "batches; returns of reinforcement learning that add up the wrong rewards; and formulas that "
    "differ from the definition of what their names say, such as a Dice coefficient without the "
    "factor 2. What is often meant is a note.",
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
