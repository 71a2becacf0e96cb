"""`python -m benchmarks.peers.bare imports|floor MODEL`: the least that an inspector must do.

`imports` imports torch and the model's file. `floor` also builds the model on the meta device,
gives it fake tensors and calls it once, without hooks and without output: a lower limit for the
time of an inspector. Like hookcli's worker, both collect garbage rarely and end without the
teardown of torch. Without that, the limit would be easier to reach.
"""

import gc
import os
import sys
from time import perf_counter

from benchmarks.peers import clock


def run(module):
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    with torch.device("meta"):
        model = module.build_model().eval()
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    fake = mode.fake_tensor_converter.from_meta_and_device
    for part in model.modules():
        for table in (part._parameters, part._buffers):
            for name, tensor in table.items():
                if tensor is not None:
                    table[name] = fake(mode, tensor, torch.device("cpu"))
    with mode:
        model(*(mode.from_tensor(one) for one in module.example_inputs()))


def main():
    gc.set_threshold(100_000, 50, 1_000)
    what, name = sys.argv[1:]
    import torch  # noqa: F401

    module = clock.load(name)
    imported = perf_counter()
    if what == "floor":
        run(module)
    clock.tell(imported)
    os._exit(0)


main()
