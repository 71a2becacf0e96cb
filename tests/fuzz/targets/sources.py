"""Models whose code does what models must not do. It is the user's code: the error is theirs.

No statement replaces Python's own functions or removes torch's classes: nothing works after that.
"""

from __future__ import annotations

from random import Random

from tests.fuzz.case import Case
from tests.fuzz.targets.texts import FORMATS

ANYWHERE = [
    "raise ValueError('a\\nb')",
    "raise SystemExit(3)",
    "raise SystemExit",
    "raise KeyboardInterrupt",
    "raise GeneratorExit",
    "raise StopIteration",
    "raise MemoryError",
    "raise RecursionError",
    "raise type('E', (Exception,), {'__str__': lambda s: 1 / 0})()",
    "raise BaseException('\\ud800')",
    "raise type('E', (Exception,), {'__str__': lambda s: '\\x1b[31m' * 9})()",
    "os._exit(0)",
    "os._exit(4)",
    "os.kill(os.getpid(), 9)",
    "os.kill(os.getpid(), 11)",
    "os.abort()",
    "sys.stdout.close()",
    "sys.stderr.close()",
    "sys.stdout = None",
    "sys.stderr = object()",
    "os.close(1)",
    "os.close(2)",
    "os.closerange(3, 40)",
    "print('\\ud800')",
    "os.write(2, b'\\xff\\n')",
    "print('a' * 10**5)",
    "sys.setrecursionlimit(60)",
    "gc.disable()",
    "torch.set_grad_enabled(False)",
    "torch.set_default_dtype(torch.float64)",
    "torch.use_deterministic_algorithms(True)",
    "torch.autograd.set_detect_anomaly(True)",
    "torch.manual_seed(3)",
    "torch.set_num_threads(1)",
    "threading.Thread(target=time.sleep, args=(60,)).start()",
    "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    "subprocess.Popen(['sleep', '60'])",
    "subprocess.Popen(['sleep', '60'], start_new_session=True)",
    "os.fork() or time.sleep(60)",
    "os.fork()",
    "os.fork() or os._exit(0)",
    "os.setsid()",
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    "warnings.warn('x' * 300)",
    "warnings.simplefilter('error')",
    "sys.path.clear()",
    "torch.nn.Module.__call__ = None",
    "nn.Linear.forward = None",
    "builtins = None",
    "import json; json.dumps = None",
    "import os; os.write = None",
    "import os; os.fstat = None",
    "import traceback; traceback.clear = 0",
    "import pickle; pickle.dumps = None",
    "atexit.register(lambda: 1 / 0)",
    "time.sleep = None",
    "sys.settrace(lambda *a: 1 / 0)",
    "sys.excepthook = None",
    "os.chdir('/')",
    "os.environ.clear()",
    "torch.nn.modules.module.register_module_forward_hook(lambda *a: 1 / 0)",
    "torch.nn.modules.module.register_module_forward_pre_hook(lambda *a: (a[1][0] * 2,))",
]
IN_MODEL = [
    "self.fc = None",
    "del self.a",
    "self.forward = 3",
    "self._modules = {}",
    "self._modules['x'] = 3",
    "self._parameters['w'] = None",
    "self.__class__ = nn.ReLU",
    "self.training = 'x'",
    "self.eval()",
    "self.register_forward_hook(lambda *a: 1 / 0)",
    "self.register_forward_hook(lambda *a: None)",
    "self.register_forward_hook(lambda *a: 3)",
    "self.register_forward_pre_hook(lambda *a: ())",
    "self.register_full_backward_hook(lambda *a: 1 / 0)",
    "self.requires_grad_(False)",
    "self.add_module('again', self.fc)",
    "self.register_buffer('b', torch.ones(2).to_sparse())",
    "self.register_parameter('p', nn.Parameter(torch.tensor(float('nan'))))",
    "self.half()",
    "self.to('meta')",
    "self.double()",
    "self.me = [self]",
    "self.apply(lambda m: 1 / 0)",
    "nn.Module.__setattr__(self, 'a\\n\\x1b[31m', nn.ReLU())",
    "self.a.add_module('\\u202e', nn.ReLU())",
    "self.lazy = nn.LazyLinear(3)",
    "self.w = nn.Parameter(torch.ones(0, 3))",
    "type(self).__repr__ = lambda s: 1 / 0",
    "type(self).__getattr__ = lambda s, n: 3",
    "type(self).__len__ = lambda s: 0",
    "type(self).__bool__ = lambda s: 1 / 0",
    "type(self).__eq__ = lambda s, o: 1 / 0",
    "type(self).__hash__ = None",
    "type(self).named_modules = None",
    "type(self).parameters = lambda s: 3",
    "type(self).named_parameters = lambda s, *a, **k: [(1, 2)]",
    "type(self).train = None",
    "type(self).state_dict = lambda s: 1 / 0",
    "type(self).__name__ = '\\x1b[31m'",
]
CALLS_ITSELF = "return self(x)"
IN_FORWARD = [
    "return None",
    "return x, {x: 1}",
    "return self",
    "return iter([x])",
    "return (x for _ in '')",
    "return [x] * 1000",
    "x = x.detach()",
    "x = x * float('nan')",
    "x = x / 0",
    "x = x.to('meta')",
    "x.resize_(0)",
    "x.requires_grad_()",
    "x.zero_()",
    "x = x.to_sparse()",
    "x = x.half()",
    "x = x.expand(3, *x.shape)",
    "x = x[:0]",
    "x = x.numpy()",
    "x = x.tolist()",
    "x.sum().backward()",
    "self.fc.weight.grad = torch.ones(1)",
    "self.fc.weight.data = torch.ones(2, 2)",
    "self.fc.weight.add_(1)",
    "self.fc = nn.Linear(4, 3)",
    CALLS_ITSELF,
    "self.fc(x); self.fc(x)",
    "x = torch.utils.checkpoint.checkpoint(self.a, x)",
    "x = torch.nested.nested_tensor([x, x])",
    "x = torch.ones(2, 4, dtype=torch.complex64)",
    "with torch.no_grad(): x = self.a(x)",
    "x = torch.func.vmap(self.fc)(x)",
    "return {'y': [x, (x, {'z': x})]}",
    "return torch.ones(2, 3)",
    "return type('T', (torch.Tensor,), {})(x.shape)",
    "x = nn.Parameter(x)",
    "return x.storage()",
    "a = []; a.append(a); return a",
    "return {1: x, None: x, (2, 3): x}",
    "return '\\x1b[31m'",
    "x.register_hook(lambda g: 1 / 0)",
    "x.register_hook(lambda g: g[:1])",
    "return 10**400, x",
]
HEAD = (
    "import atexit, gc, os, signal, subprocess, sys, threading, time, warnings\n"
    "import torch, torch.utils.checkpoint\nfrom torch import nn\n"
)
COMMANDS = ("inspect", "grads", "trace", "check", "check", "grads", "snapshot", "diff")


def source(rng: Random) -> Case:
    """One to three statements that hurt, at the top, in the constructor, or in forward."""
    at: dict[str, list[str]] = {"top": [], "init": [], "forward": []}
    for _ in range(rng.choice((1, 1, 2, 3))):
        place = rng.choice(("top", "init", "forward", "forward", "forward"))
        own = {"top": [], "init": IN_MODEL, "forward": [*IN_MODEL, *IN_FORWARD, *IN_FORWARD]}
        at[place].append(rng.choice(rng.choice((ANYWHERE, own[place] or ANYWHERE))))
    if CALLS_ITSELF in at["forward"]:
        at["forward"] = [CALLS_ITSELF]  # what else it does would be done a thousand times
    return _case(rng, at, rng.choice(COMMANDS))


def ranks(rng: Random) -> Case:
    """Two ranks, of which often only one is hurt."""
    at: dict[str, list[str]] = {"top": [], "init": [], "forward": []}
    place = rng.choice(("top", "init", "forward", "forward"))
    line = rng.choice([*ANYWHERE, *IN_MODEL] if place != "forward" else [*ANYWHERE, *IN_FORWARD])
    if rng.random() < 0.6:
        deeper = "    " if place == "top" else "            "
        line = f"if os.environ.get('RANK') == '1':\n{deeper}{line}"
    at[place].append(line)
    return _case(rng, at, rng.choice(("inspect", "grads", "trace", "check")), "--nproc", "2")


def _case(rng: Random, at: dict[str, list[str]], command: str, *more: str) -> Case:
    code = HEAD + "\n".join(at["top"])
    code += "\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    code += "        self.a = nn.Sequential(nn.Linear(4, 4), nn.Tanh())\n"
    code += "        self.fc = nn.Linear(4, 3)\n"
    code += "".join(f"        {line}\n" for line in at["init"])
    code += "\n    def forward(self, x):\n"
    early = rng.random() < 0.5
    lines = [f"        {line}\n" for line in at["forward"]]
    code += "".join(lines) if early else ""
    code += "        x = self.a(x)\n" + ("" if early else "".join(lines))
    code += "        return self.fc(x)\n"
    arguments = [command, "m.py:Net", *more]
    arguments += ["m.py:Net"] if command == "diff" else []
    arguments += ["-i", "2x4"] if rng.random() < 0.9 else []
    if command != "snapshot":
        formats = ("json", "table") if command == "diff" else ("json", "json", "json", *FORMATS)
        arguments += ["-f", rng.choice(formats)]
    return Case(tuple(arguments), {"m.py": code.encode("utf-8", "surrogatepass")}, "m.py")
