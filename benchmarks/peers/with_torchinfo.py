"""`python -m benchmarks.peers.with_torchinfo MODEL`: what a user of torchinfo writes."""

import sys
from time import perf_counter

from benchmarks.peers import clock


def main():
    import torchinfo

    module = clock.load(sys.argv[1])
    imported = perf_counter()
    columns = ("input_size", "output_size", "num_params", "mult_adds")
    model = module.build_model().eval()
    batch = module.example_inputs()
    print(torchinfo.summary(model, input_data=batch, col_names=columns, depth=99, verbose=0))
    clock.tell(imported)


main()
