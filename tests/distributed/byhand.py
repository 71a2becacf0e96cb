"""A run with DistributedDataParallel and nothing of hookcli: what each rank saw, as JSON.

python byhand.py STORE STEPS CAP HOOK OUT..., with a file for each rank
"""

import importlib.util
import json
import os
import sys
import traceback
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

HERE = Path(__file__).parent


def load():
    spec = importlib.util.spec_from_file_location("nets", HERE / "nets.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_rank(rank, world, store, steps, cap, hook, out):
    os.environ["RANK"] = str(rank)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore(store, world), rank=rank, world_size=world)
    nets = load()
    torch.manual_seed(0)
    net = nets.Net()
    names = {id(p): n for n, p in net.named_parameters()}
    ddp = DistributedDataParallel(net, bucket_cap_mb=float(cap) if cap != "-" else None)
    seen = []
    average = getattr(default_hooks, hook)

    def log(state, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        held = [names[id(p)] for p in bucket.parameters()]
        row = {"index": bucket.index(), "last": bucket.is_last(), "parameters": held,
               "before": float(bucket.buffer().double().norm())}  # fmt: skip
        seen.append(row)

        def after(done):
            row["after"] = float(done.value().double().norm())
            return done.value()

        return average(None, bucket).then(after)

    ddp.register_comm_hook(None, log)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        seen.clear()
        loss = nets.loss(ddp(nets.batch()))
        loss.backward()
        grads = {n: [float(f(p.grad.double())) for f in (torch.norm, torch.mean, torch.min)]
                 for n, p in net.named_parameters()}  # fmt: skip
        found.append({"buckets": [*seen], "loss": loss.item(), "grads": grads})
        optimizer.step()
    Path(out).write_text(json.dumps(found))
    # Objects of torch.distributed that are destroyed here can wait for a thread that waits for the
    # GIL, so the process ends without.
    os._exit(0)


def main(store, steps, cap, hook, *outs):
    """Run each rank in a fork of this process."""
    ranks = []
    for rank, out in enumerate(outs):
        pid = os.fork()
        if pid == 0:
            try:
                run_rank(rank, len(outs), store, int(steps), cap, hook, out)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        ranks.append(pid)
    sys.exit(max(os.waitpid(pid, 0)[1] != 0 for pid in ranks))


if __name__ == "__main__":
    main(*sys.argv[1:])
