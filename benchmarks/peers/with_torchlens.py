"""`python -m benchmarks.peers.with_torchlens MODEL`: what a user of torchlens writes."""

import sys
from time import perf_counter

from benchmarks.peers import clock


def main():
    import torchlens

    module = clock.load(sys.argv[1])
    imported = perf_counter()
    model = module.build_model().eval()
    print(torchlens.summary(model, list(module.example_inputs())))
    clock.tell(imported)


main()
