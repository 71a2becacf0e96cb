"""On two ranks, over gloo: uneven shards of FSDP2, a tensor parallel net, and a rank that parts."""

import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist

from benchmarks.proof.sharded import rank_faults, training


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    truth = {}
    for mode, name in (("fsdp", "scaled"), ("tp", "gpt")):
        mesh = training.mesh_of(mode, dist.get_world_size())
        truth[name] = training.train(name, mode, mesh)
    rank_faults.CASES["one_element"].run(dist.get_rank())
    if dist.get_rank() == 0:
        Path(sys.argv[1]).write_text(json.dumps(truth))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
