"""Training scripts that do what scripts should not, under `hookcli run` with hostile flags."""

from __future__ import annotations

from random import Random

from tests.fuzz.case import Case
from tests.fuzz.hostile import WORDS
from tests.fuzz.targets.texts import FORMATS

HEAD = """import atexit, builtins, gc, os, signal, sys, threading, time, warnings
import torch
from torch import nn

torch.manual_seed(0)
"""
MODELS = """net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
other = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
second = torch.optim.Adam([*other.parameters()], lr=0.01)
x = torch.randn(16, 4)
"""
STEP = """optimizer.zero_grad()
loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
loss.backward()
optimizer.step()
"""
ANYWHERE = [
    "raise ValueError('a\\nb')", "raise SystemExit(3)", "raise SystemExit", "sys.exit('text')",
    "sys.exit(4)", "raise KeyboardInterrupt", "raise GeneratorExit",
    "raise BaseException('\\ud800')",
    "raise type('E', (Exception,), {'__str__': lambda s: 1 / 0})()", "os._exit(5)", "1 / 0",
    "os.kill(os.getpid(), 9)", "sys.stdout.close()", "sys.stderr.close()", "sys.stdout = None",
    "os.close(1)", "os.close(2)", "os.closerange(3, 40)", "print('\\ud800')", "print('x' * 10**5)",
    "sys.setrecursionlimit(120)", "gc.disable()", "torch.set_default_dtype(torch.float64)",
    "torch.use_deterministic_algorithms(True)", "os.fork() or os._exit(0)", "os.chdir('/')",
    "threading.Thread(target=time.sleep, args=(0.1,)).start()", "os.environ.clear()",
    "threading.Thread(target=lambda: 1 / 0).start()",
    "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "signal.signal(signal.SIGINT, lambda *a: None)", "warnings.warn('x' * 300)",
    "warnings.simplefilter('error')", "sys.path.clear()", "sys.argv.clear()",
    "sys.modules.clear()",
    "sys.excepthook = None", "builtins.print = None", "builtins.len = lambda x: 1 / 0",
    "builtins.isinstance = None", "builtins.open = None", "time.time = None", "os.write = None",
    "time.monotonic = None", "import json; json.dumps = None", "import os; os.getpid = None",
    "torch.Tensor.shape = None", "torch.Tensor.norm = None", "torch.nn.Module.__call__ = None",
    "torch.optim.Optimizer.step = None", "atexit.register(lambda: 1 / 0)",
    "atexit._clear()", "del sys.modules['torch']", "import torch.multiprocessing",
    "sys.settrace(lambda *a: None)", "os.umask(0o777)", "__name__ = 3", "del __builtins__",
    "exec('raise MemoryError')", "import runpy; runpy.run_path(__file__, run_name='x')",
    "import importlib; importlib.reload(torch.nn)", "os.setsid()", "torch.set_num_threads(1)",
]  # fmt: skip
IN_STEP = [
    "(other(x) + net(x)).mean().backward(); second.step()", "optimizer.step()", "net = other",
    "net[0].weight.data.fill_(float('nan'))", "loss = loss * float('inf')", "net.eval()",
    "net.zero_grad()", "optimizer.param_groups.clear()", "optimizer.param_groups[0]['lr'] = 'x'",
    "optimizer.param_groups[0]['lr'] = 10**400", "optimizer.param_groups[0]['lr'] = None",
    "torch.optim.LBFGS(net.parameters(), max_iter=2).step(lambda: net(x).sum())",
    "net.add_module(str(len(net)), nn.Linear(1, 1))", "del net[2]", "net[1].extra = net",
    "nn.Module.__setattr__(net, 'a\\n\\x1b[31m', nn.ReLU())", "net.requires_grad_(False)",
    "net.register_forward_hook(lambda *a: 1 / 0)", "net.half()", "x = x.to('meta')", "x = x[:0]",
    "x.resize_(0)", "del optimizer", "net.__class__ = type('\\x1b[31m', (nn.Sequential,), {})",
    "type(net).__repr__ = lambda s: 1 / 0", "type(net).named_modules = None", "net.train = None",
    "type(net).parameters = lambda s: iter([3])", "type(net).__bool__ = lambda s: 1 / 0",
    "loss.backward()", "torch.autograd.set_detect_anomaly(True)", "torch.set_grad_enabled(False)",
    "torch.nn.utils.clip_grad_norm_(net.parameters(), 1e-9)", "optimizer.load_state_dict({})",
    "torch.save(net, 'net.pt')", "import copy; net = copy.deepcopy(net)",
    "torch.save(optimizer.state_dict(), 'o.pt')", "optimizer.zero_grad = None",
    "optimizer.step = None",
    "optimizer.add_param_group({'params': [nn.Parameter(torch.ones(2))]})", "gc.collect()",
    "net[0].weight.register_hook(lambda g: g * 0)", "net[0].weight.grad = None",
    "torch.utils.checkpoint.checkpoint(net, x, use_reentrant=False).sum().backward()",
]  # fmt: skip
STEPS = ["all", "0", "0-2,every:100", "every:1", "every:0", "5-1", "-1", "1e3", "0-", ",", "every:",
         "9" * 30, "0-999999999999", "all,all"]  # fmt: skip
CONFIGS = [
    "hooks:\n  - {kind: forward, at: '*', do: stats}\n",
    "hooks:\n  - {kind: tensor, at: '*', do: {stats: norm}}\nchecks:\n  - {rule: loss_falls}\n",
    "hooks:\n  - {kind: full_backward, at: '0', root: {type: Sequential}, do: record}\n",
    "hooks:\n  - {kind: forward, at: '*', do: {scale: 0.5}}\n",
    "checks:\n  - {rule: finite_steps, severity: warning}\nfail_on: warning\n",
    "hooks: 3\n", "hooks:\n  - {kind: forward, at: nothing, do: record}\n",
]  # fmt: skip
ENDING = {"--max-steps", "--stop-on", "--fail-on"}  # may change the status and the output


def script(rng: Random) -> Case:
    """A training of some steps, with zero to three statements that hurt."""
    steps, hurts = rng.choice((0, 1, 2, 4)), rng.choice((0, 1, 1, 2, 3))
    top = [rng.choice(ANYWHERE) for _ in range(hurts) if rng.random() < 0.3]
    within = [rng.choice(rng.choice((IN_STEP, IN_STEP, ANYWHERE))) for _ in range(hurts - len(top))]
    at = rng.randrange(4)  # where in a step they are
    lines = STEP.splitlines()
    lines[at + 1 : at + 1] = [f"if step == {rng.randrange(max(1, steps))}:\n        {line}"
                              for line in within]  # fmt: skip
    code = HEAD + "\n".join(top) + "\n" + (MODELS if rng.random() < 0.95 else "")
    code += f"for step in range({steps}):\n" + "".join(f"    {line}\n" for line in lines)
    if steps:
        code += "print(loss.item())\n"
    flags, written = _flags(rng)
    files = {"s.py": code.encode("utf-8", "surrogatepass")}
    if "-c" in flags:
        files["c.yaml"] = rng.choice(CONFIGS).encode()
    arguments = ("run", *flags, "s.py", *rng.choice(((), ("--help",), ("-f", "json"), ("a\nb",))))
    then = (("render", "run.json", "-f", rng.choice(FORMATS)), ("diff", "run.json", "run.json"))
    return Case(
        arguments,
        files,
        "s.py",
        outputs=written,
        writes=True,
        script=arguments[arguments.index("s.py") :],
        is_same=ENDING.isdisjoint(flags) and not any("=" not in f for f in _formats(flags)),
        then=then if "run.json" in written else (),
    )


def _formats(flags: list[str]) -> list[str]:
    return [flags[i + 1] for i, flag in enumerate(flags[:-1]) if flag == "-f"]


def _flags(rng: Random) -> tuple[list[str], dict[str, str]]:
    flags: list[str] = []
    written: dict[str, str] = {}
    if rng.random() < 0.6:
        flags += ["-o", "run.json"]
        written["run.json"] = "json"
    elif rng.random() < 0.4:
        form = rng.choice(FORMATS)
        flags += ["-f", rng.choice([form, f"{form}=out", "json=run.json"])]
        written = {"out": form, "run.json": "json"}
    for _ in range(rng.choice((0, 1, 1, 2))):
        flags += rng.choice((
            ["--steps", rng.choice(STEPS)], ["--max-steps", rng.choice(("1", "2", "0", "-1", "x"))],
            ["--stop-on", rng.choice(("nonfinite", "finding", "spike", "x"))],
            ["--stream", "events"],
            ["--preset", rng.choice(("grads", "trace", "inspect", "none"))], ["--kinds", "all"],
            ["--fail-on", rng.choice(("error", "warning", "never"))], ["-q"], ["-v"], ["--eager"],
            ["-c", "c.yaml"], ["--root", rng.choice(("*", "net", "Sequential", "(", ""))],
            ["--kinds", "tensor,forward"],
            [rng.choice(("--steps", "--root", "--preset")), _word(rng)],
        ))  # fmt: skip
    if "--stream" in flags:
        written["events"] = "jsonl"
    return flags, written


def _word(rng: Random) -> str:
    return rng.choice(WORDS).replace("\0", "").replace("\ud800", "\udcff")
