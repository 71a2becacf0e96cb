"""`python -m benchmarks.peers.with_hookcli MODEL`: what `hookcli inspect` does, in one process.

Everything is imported first, so that the measured time is that of the work: build, batch, forward,
report, to JSON and back, table.
"""

import sys
from pathlib import Path
from time import perf_counter

from benchmarks.peers import clock


def main():
    from hookcli.worker.child import guard

    guard.collect_garbage_rarely()
    from hookcli.engine.attempt import Session
    from hookcli.formats.registry import FORMATS
    from hookcli.formats.view import View
    from hookcli.models.fake import lazy_compiler
    from hookcli.report.encode import to_json
    from hookcli.report.schema import from_json, prepare
    from hookcli.spec.request import Attempt, ModelSpec, RunSpec, Spec

    prepare()
    lazy_compiler.install(fake=True)
    name = sys.argv[1]
    clock.load(name)  # the libraries that the model's file imports
    imported = perf_counter()
    file = Path(__file__).parent.parent / "models" / f"{name}.py"
    spec = Spec("inspect", ModelSpec(str(file), (), None), inputs=(), run=RunSpec())

    def progress(phase, note):
        if phase == "inputs" and note is None:
            guard.collect_garbage_normally()

    report = Session(spec, Attempt("fake"), progress).run().report
    print(FORMATS["table"].render(from_json(to_json(report)), View()))
    clock.tell(imported)


main()
