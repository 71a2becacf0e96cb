"""The same hooks, registered by hand in plain PyTorch. Nothing of hookcli is used here.

`fired(model, x, wanted)` runs forward, the float32 sum of the outputs as loss, backward, a step of
SGD where an optimizer's hook is wanted, and the state dict's round trip where one of its hooks is.
`wanted` is a list of (kind, pattern) with a part after a colon for tensors; what comes back is a
list of (kind, target, [shapes]) in the order of firing.
"""

from __future__ import annotations

import warnings
from contextlib import ExitStack, nullcontext
from fnmatch import fnmatchcase

import torch
from torch import nn
from torch.autograd.graph import get_gradient_edge, register_multi_grad_hook, saved_tensors_hooks
from torch.nn.modules import module as M
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils._python_dispatch import TorchDispatchMode

LEAF = 1 << 63  # AccumulateGrad nodes have the number 2**64 - 1


def tensors(value, path=""):
    """(path, tensor) of what is inside tuples, lists and dictionaries."""
    if isinstance(value, torch.Tensor):
        yield path, value
    elif isinstance(value, (tuple, list)):
        for i, one in enumerate(value):
            yield from tensors(one, f"{path}[{i}]")
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from tensors(one, f"{path}.{key}")


def shapes(value):
    return [list(t.shape) for _, t in tensors(value)]


def arguments(args, kwargs):
    yield from tensors(args)
    yield from tensors(kwargs)


class Script:
    """What a user would write, for every kind."""

    def __init__(self, model, wanted):
        self.model = model
        self.wanted = wanted
        self.log = []
        self.names = {id(m): n for n, m in model.named_modules()}
        self.running = []
        self.kept = []  # AccumulateGrad nodes: torch forgets their hooks with them
        self.first_ran_graded = {}
        self.together = {}

    def note(self, kind, target, value):
        self.log.append((kind, target, shapes(value)))

    def modules(self, pattern):
        return [(n, m) for n, m in self.model.named_modules() if fnmatchcase(n, pattern)]

    def parameters(self, pattern):
        return [(n, p) for n, p in self.model.named_parameters() if fnmatchcase(n, pattern)]

    def follow(self, stack):
        """Keep the stack of running modules."""

        def begin(module, args):
            name = self.names[id(module)]
            if torch._C._current_graph_task_id() == -1:
                self.first_ran_graded[name] = torch.is_grad_enabled()
            frame = {"name": name, "since": torch._C._autograd._get_sequence_nr(), "inner": []}
            self.running.append(frame)

        stack.enter_context(M.register_module_forward_pre_hook(begin))

    def unfollow(self, stack):
        def end(module, args, output):
            while True:
                frame = self.running.pop()
                if frame["name"] == self.names[id(module)]:
                    break
            if self.running:
                until = torch._C._autograd._get_sequence_nr()
                self.running[-1]["inner"].append((frame["since"], until))

        for module in self.model.modules():
            stack.enter_context(module.register_forward_hook(end, always_call=True))

    def live(self, name):
        """Whether gradients come to what this call gives: once of the two passes of a checkpoint"""
        again = torch._C._current_graph_task_id() != -1
        return torch.is_grad_enabled() and not (again and self.first_ran_graded[name])

    # One for each kind.

    def attach(self, kind, pattern, stack):
        plain = kind.removeprefix("global_")
        if kind.startswith("global_optimizer"):
            return
        if kind.startswith("global_"):
            register = getattr(M, f"register_module_{plain}_hook")
            stack.enter_context(register(self.around_module(kind, plain)))
        elif f"register_{kind}_hook" in vars(nn.Module) and "state_dict" not in kind:
            for _, module in self.modules(pattern):
                register = getattr(module, f"register_{kind}_hook")
                stack.enter_context(register(self.around_module(kind, kind)))
        elif ":" in pattern:
            self.on_values(kind, *pattern.split(":"), stack)
        elif kind in {"node", "node_pre"}:
            self.on_nodes(kind, pattern, stack)
        elif kind in {"tensor", "post_accumulate_grad", "accumulate_grad", "multi_grad"}:
            self.on_parameters(kind, pattern, stack)
        elif "state_dict" in kind:
            self.on_state(kind, pattern, stack)

    def around_module(self, kind, plain):
        value = {"forward_pre": 1, "forward": 2, "full_backward_pre": 1}.get(plain, 1)

        def hook(*given):
            self.note(kind, self.names[id(given[0])], given[value])

        return hook

    def on_values(self, kind, pattern, part, stack):
        for name, module in self.modules(pattern):

            def put(found, name=name, since=0):
                seen = set()
                if not self.live(name):
                    return
                for path, tensor in found:
                    if not tensor.requires_grad or id(tensor) in seen:
                        continue
                    seen.add(id(tensor))
                    target = f"{name}:{part}{path}"
                    if kind == "multi_grad":
                        self.together.setdefault(pattern, []).append((target, tensor))
                    else:
                        tensor.register_hook(lambda g, t=target: self.note(kind, t, g))

            if kind == "node":
                self.on_share(name, module, stack)
            elif part == "input":
                stack.enter_context(
                    module.register_forward_pre_hook(
                        lambda m, a, k, put=put: put(list(arguments(a, k))), with_kwargs=True
                    )
                )
            else:
                stack.enter_context(
                    module.register_forward_hook(lambda m, a, o, put=put: put(list(tensors(o))))
                )

    def on_share(self, name, module, stack):
        """The module's part of its inputs' gradients: at its nodes that lead to the inputs."""
        open_ = []

        def before(module, args, kwargs):
            edges = {}
            for path, t in arguments(args, kwargs):
                if t.requires_grad and torch.is_grad_enabled():
                    edge = get_gradient_edge(t)
                    edges.setdefault((edge.node, edge.output_nr), path)
            open_.append(edges)

        def after(module, args, output):
            edges = open_.pop()
            if not self.live(name):
                return
            since = next(f["since"] for f in reversed(self.running) if f["name"] == name)
            found = {}
            for node in made(output, since):
                for slot, edge in enumerate(node.next_functions):
                    if edge in edges:
                        found.setdefault(edges[edge], []).append((node, slot))
            for path, places in found.items():
                terms = []

                def hook(grads, _, slot, places=places, terms=terms, path=path):
                    now = torch._C._current_autograd_node()
                    runs = torch._C._will_engine_execute_node
                    terms.append(grads[slot])
                    if len(terms) == sum(node is now or runs(node) for node, _ in places):
                        self.note("node", f"{name}:input{path}", terms[0])
                        terms.clear()

                for node, slot in places:
                    node.register_hook(lambda i, o, s=slot, h=hook: h(i, o, s))

        stack.enter_context(module.register_forward_pre_hook(before, with_kwargs=True))
        stack.enter_context(module.register_forward_hook(after))

    def on_nodes(self, kind, pattern, stack):
        def after(module, args, output):
            name = self.names[id(module)]
            if not self.live(name):
                return
            frame = next(f for f in reversed(self.running) if f["name"] == name)
            for node in made(output, frame["since"]):
                number = node._sequence_nr()
                if any(low <= number < high for low, high in frame["inner"]):
                    continue
                if kind == "node_pre":
                    node.register_prehook(lambda o: self.note(kind, name, o))
                else:
                    node.register_hook(lambda i, o: self.note(kind, name, i))

        for _, module in self.modules(pattern):
            stack.enter_context(module.register_forward_hook(after))

    def on_parameters(self, kind, pattern, stack):
        held = [(n, p) for n, p in self.parameters(pattern) if p.requires_grad]
        if kind == "multi_grad":
            stack.enter_context(self.group(held))
            return
        for name, p in held:
            if kind == "tensor":
                handle = p.register_hook(lambda g, n=name: self.note(kind, n, g))
            elif kind == "post_accumulate_grad":
                handle = p.register_post_accumulate_grad_hook(
                    lambda p, n=name: self.note(kind, n, p.grad)
                )
            else:
                node = get_gradient_edge(p).node
                self.kept.append(node)
                handle = node.register_hook(lambda i, o, n=name: self.note(kind, n, o))
            stack.enter_context(handle)

    def group(self, held):
        target = ", ".join(n for n, _ in held[:3]) + ("…" if len(held) > 3 else "")
        return register_multi_grad_hook(
            [t for _, t in held], lambda grads: self.note("multi_grad", target, grads)
        )

    def on_state(self, kind, pattern, stack):
        def own(module, state, prefix):
            held = {**dict(module.named_parameters(recurse=False, remove_duplicate=False))}
            held |= dict(module.named_buffers(recurse=False, remove_duplicate=False))
            return [state[prefix + key] for key in held if prefix + key in state]

        for name, module in self.modules(pattern):

            def hook(module, *given, name=name):
                sees = kind in {"state_dict_post", "load_state_dict_pre"}
                self.note(kind, name, own(module, given[0], given[1]) if sees else None)

            stack.enter_context(getattr(module, f"register_{kind}_hook")(hook))

    # The run.

    def saving(self):
        if not any(kind == "saved_tensors" for kind, _ in self.wanted):
            return nullcontext()

        def pack(tensor):
            name = self.running[-1]["name"] if self.running else ""
            self.note("saved_tensors", name, tensor)
            return name, tensor

        def unpack(packed):
            self.note("saved_tensors", *packed)
            return packed[1]

        return saved_tensors_hooks(pack, unpack)

    def operators(self):
        if not any(kind == "op" for kind, _ in self.wanted):
            return nullcontext()
        script = self

        class Log(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                out = func(*args, **(kwargs or {}))
                name = script.running[-1]["name"] if script.running else ""
                script.note("op", name, out)
                return out

        return Log()

    def optimizer(self, stack):
        kinds = [kind for kind, _ in self.wanted if "optimizer" in kind]
        if not kinds:
            return None
        made_ = torch.optim.SGD([p for p in self.model.parameters() if p.requires_grad], lr=0.01)

        def hook(kind):
            def fire(optimizer, args, kwargs):
                held = [p for group in optimizer.param_groups for p in group["params"]]
                if "_pre" in kind:
                    held = [p.grad for p in held if p.grad is not None]
                self.note(kind, "SGD", held)

            return fire

        register = {
            "optimizer_step_pre": made_.register_step_pre_hook,
            "optimizer_step_post": made_.register_step_post_hook,
            "global_optimizer_step_pre": register_optimizer_step_pre_hook,
            "global_optimizer_step_post": register_optimizer_step_post_hook,
        }
        for kind in kinds:
            stack.enter_context(register[kind](hook(kind)))
        return made_

    def run(self, x, backwards):
        with ExitStack() as stack:
            self.follow(stack)
            for kind, pattern in self.wanted:
                self.attach(kind, pattern, stack)
            self.unfollow(stack)
            optimizer = self.optimizer(stack)
            with self.operators():
                with self.saving():
                    loss = total(self.model(x))
                for held in self.together.values():
                    self.group(held)
                for kind, _ in self.wanted:
                    if kind == "engine_callback":
                        loss.register_hook(lambda _: self.queue())
                for i in range(backwards):
                    loss.backward(retain_graph=i < backwards - 1)
                if optimizer is not None:
                    optimizer.step()
            if any("state_dict" in kind for kind, _ in self.wanted):
                self.model.load_state_dict(self.model.state_dict())
        return self.log

    def queue(self):
        engine = torch.autograd.Variable._execution_engine
        engine.queue_callback(lambda: self.note("engine_callback", "", None))


def made(output, since):
    """The nodes behind an output with a number from `since` on, in the order of making."""
    found, todo = set(), [t.grad_fn for _, t in tensors(output)]
    while todo:
        node = todo.pop()
        if node is None or node in found or not since <= node._sequence_nr() < LEAF:
            continue
        found.add(node)
        todo += [one for one, _ in node.next_functions]
    return sorted(found, key=lambda node: node._sequence_nr())


def total(output):
    """The sum of all distinct outputs that require grad."""
    found = {id(t): t for _, t in tensors(output) if t.requires_grad}
    parts = [t.sum() for t in found.values()]
    loss = parts[0]
    for part in parts[1:]:
        loss = loss + part
    return loss


def fired(model, x, wanted, *, backwards=1):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's, where a backward hook fires at the output
        return Script(model.train(), wanted).run(x, backwards)
