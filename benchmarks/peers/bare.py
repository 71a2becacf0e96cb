"""`python -m benchmarks.peers.bare imports|fake|real|backward MODEL`: the least to be done.

`imports` imports torch and the model's file. The others also build the model and call it once,
without hooks and without output: a lower limit for the time of an inspector. `fake` builds it on
the meta device and gives it fake tensors; `backward` runs backward from the mean of the output.
Like hookcli's worker, all collect garbage rarely and end without the teardown of torch. Without
that, the limit would be easier to reach.
"""

import gc
import os
import sys
from time import perf_counter

from benchmarks.peers import clock


def real(module, *, backward):
    import torch

    model = module.build_model()
    if not backward:
        with torch.no_grad():
            model.eval()(*module.example_inputs())
        return
    output = model(*module.example_inputs())
    output = output if isinstance(output, torch.Tensor) else output[0]
    output.float().mean().backward()


def fake(module):
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    with torch.device("meta"):
        model = module.build_model().eval()
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    convert = mode.fake_tensor_converter.from_meta_and_device
    for part in model.modules():
        for table in (part._parameters, part._buffers):
            for name, tensor in table.items():
                if tensor is not None:
                    table[name] = convert(mode, tensor, torch.device("cpu"))
    with mode:
        model(*(mode.from_tensor(one) for one in module.example_inputs()))


def main():
    gc.set_threshold(100_000, 50, 1_000)
    what, name = sys.argv[1:]
    import torch  # noqa: F401

    module = clock.load(name)
    imported = perf_counter()
    if what == "fake":
        fake(module)
    elif what != "imports":
        real(module, backward=what == "backward")
    clock.tell(imported)
    os._exit(0)


main()
