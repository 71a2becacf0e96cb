"""The trainings that are ended. Each prints what plain PyTorch knows of each of its steps.

A script gets the name of an end, the step at which it ends itself, and seconds. Its lines are
`record step loss lr norm time`: the loss is the sum of what backward started from, the norm that of
`torch.nn.utils.get_total_norm` just before the step, or None. LBFGS runs backward itself: the loss
is that of its first pass, and the norm that of its last one.
"""

HEAD = """\
import os, sys, time
os.write(1, f"pid {os.getpid()}\\n".encode())
import torch
from torch import nn
torch.manual_seed(0)
end, at, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
begun = None  # when the disk was filled

def norm_of(net):
    return torch.nn.utils.get_total_norm([p.grad for p in net.parameters()]).item()

def show(record, step, loss, optimizer, norm=None):
    now, lr = time.monotonic(), optimizer.param_groups[0]["lr"]
    os.write(1, f"{record} {step} {loss!r} {lr!r} {norm!r} {now!r}\\n".encode())
    if step >= at:
        finish()

def fill():
    with open("filler", "wb", 0) as file:
        try:
            for size in (65536, 4096, 1):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    pass
        finally:
            os.write(1, f"full {time.monotonic()!r}\\n".encode())

def finish():
    global begun, end
    if end == "os._exit":
        os._exit(7)
    if end == "sys.exit":
        sys.exit(3)
    if end == "exception":
        raise ValueError("of the script")
    if end == "segmentation fault":
        import ctypes
        ctypes.string_at(0)
    if end == "abort":
        os.abort()
    if end == "traceback and exit":
        import faulthandler
        faulthandler.dump_traceback_later(seconds, exit=True)
        end = ""
    if end == "alarm":
        import signal
        signal.setitimer(signal.ITIMER_REAL, seconds)
        end = ""
    if end == "no processor time left":
        import resource
        limit = int(time.process_time()) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        end = ""
    if end == "no memory left":
        import resource
        with open("/proc/self/statm") as file:
            limit = int(file.read().split()[0]) * 4096 + (64 << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        kept = globals().setdefault("kept", [])
        while True:
            kept.append(torch.ones(1 << 18))
    if end.startswith("disk full"):
        if begun is None:
            begun = time.monotonic()
            fill()
        if time.monotonic() - begun > seconds:
            if "SIGKILL" in end:
                os.kill(os.getpid(), 9)
            with open("results", "wb", 0) as file:
                file.write(bytes(10000))
"""

TRAININGS = {
    "accumulation": """
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(10**9):
    total = 0.0
    for _ in range(4):
        loss = net(torch.randn(16, 8)).square().mean() / 4
        loss.backward()
        total += loss.item()
    norm = norm_of(net)
    optimizer.step(); optimizer.zero_grad(); show("net", step, total, optimizer, norm)
""",
    "autocast": """
net = nn.Sequential(nn.Embedding(50, 32), nn.TransformerEncoderLayer(32, 4, 64, batch_first=True),
                    nn.Linear(32, 50))
optimizer = torch.optim.AdamW(net.parameters(), 1e-3)
for step in range(10**9):
    words = torch.randint(50, (4, 12))
    with torch.autocast("cpu", torch.bfloat16):
        loss = nn.functional.cross_entropy(net(words).flatten(0, 1), words.roll(-1, 1).flatten())
    optimizer.zero_grad(); loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    norm = norm_of(net)
    optimizer.step(); show("net", step, loss.item(), optimizer, norm)
""",
    "lbfgs": """
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.LBFGS(net.parameters(), 0.1, max_iter=4)
for step in range(10**9):
    x, losses = torch.randn(32, 4), []
    def closure():
        optimizer.zero_grad()
        loss = (net(x) - x.prod(1, keepdim=True)).square().mean()
        loss.backward()
        losses.append(loss.item())
        return loss
    optimizer.step(closure); show("net", step, losses[0], optimizer, norm_of(net))
""",
    "two optimizers": """
generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
of_generator = torch.optim.Adam(generator.parameters(), 1e-3)
of_critic = torch.optim.RMSprop(critic.parameters(), 5e-4)
one, none = torch.ones(16, 1), torch.zeros(16, 1)
judge = nn.functional.binary_cross_entropy_with_logits
for step in range(10**9):
    of_critic.zero_grad()
    real = judge(critic(torch.randn(16, 2) + 3), one); real.backward()
    made = generator(torch.randn(16, 4))
    fake = judge(critic(made.detach()), none); fake.backward()
    of_critic.step(); show("critic", step, real.item() + fake.item(), of_critic)
    of_generator.zero_grad()
    loss = judge(critic(made), one); loss.backward()
    norm = norm_of(generator)
    of_generator.step(); show("generator", step, loss.item(), of_generator, norm)
""",
    "workers": """
from torch.utils.data import DataLoader, TensorDataset
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(),
                    nn.Linear(8 * 14 * 14, 10))
optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)
data = TensorDataset(torch.randn(512, 3, 16, 16), torch.randint(10, (512,)))
step = 0
for epoch in range(10**9):
    for x, y in DataLoader(data, 8, shuffle=True, num_workers=2):
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        show("net", step, loss.item(), optimizer)
        step += 1
""",
    "custom function": """
class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sign()
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= 1)

class Binary(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(16, 8))
        self.out = nn.Linear(16, 1)
    def forward(self, x):
        return self.out(x @ Sign.apply(self.weight).t())

net = Binary()
optimizer = torch.optim.SGD(net.parameters(), 0.01)
for step in range(10**9):
    x = torch.randn(16, 8)
    loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad(); loss.backward()
    norm = norm_of(net)
    optimizer.step()
    with torch.no_grad():
        net.weight.clamp_(-1, 1)
        net.out.bias.mul_(0.99)
    show("net", step, loss.item(), optimizer, norm)
""",
    "restarts": """
net = nn.Sequential(nn.Conv1d(2, 8, 3), nn.GroupNorm(2, 8), nn.GELU(), nn.Flatten(),
                    nn.Linear(8 * 14, 4))
optimizer = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9, nesterov=True)
scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 7, 2)
for step in range(10**9):
    loss = nn.functional.cross_entropy(net(torch.randn(8, 2, 16)), torch.randint(4, (8,)))
    optimizer.zero_grad(); loss.backward()
    norm = norm_of(net)
    optimizer.step(); show("net", step, loss.item(), optimizer, norm); scheduler.step()
""",
    "checkpoints": """
import signal
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
def save(*_):
    try:
        torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, "new.pt")
        os.replace("new.pt", "last.pt")
    except (OSError, RuntimeError):
        pass  # the disk is full
def save_and_exit(*_):
    save()
    sys.exit(5)
signal.signal(signal.SIGTERM, save_and_exit)
for step in range(10**9):
    loss = net(torch.randn(16, 8)).square().mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    if step % 20 == 0:
        save()
    show("net", step, loss.item(), optimizer)
""",
    "thread and process": """
import copy, subprocess, threading
net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adagrad(net.parameters(), 0.01)
def evaluate():
    while True:
        with torch.no_grad():
            copy.deepcopy(net)(torch.randn(4, 8, generator=torch.Generator().manual_seed(1)))
        time.sleep(0.01)
threading.Thread(target=evaluate, daemon=True).start()
for step in range(10**9):
    loss = net(torch.randn(16, 8)).square().mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    if step % 200 == 50:
        subprocess.run([sys.executable, "-S", "-c", "pass"])
    show("net", step, loss.item(), optimizer)
""",
    "slow steps": """
net = nn.LSTM(8, 16)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(10**9):
    loss = net(torch.randn(20, 4, 8))[0].square().mean()
    optimizer.zero_grad(); loss.backward()
    norm = norm_of(net)
    optimizer.step(); time.sleep(0.05); show("net", step, loss.item(), optimizer, norm)
""",
}
