"""What each script does: its roots, optimizers and steps, written down by reading the script.

The figures of each step are measured by the script itself (see tests/training/oracle.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Record:
    """`steps` counts those that the optimizer skipped too. `forwards` are the calls of the root
    and `backwards` the backward passes that reach it: one number for all steps, or one per step;
    None where a step shows them by the oracle, or where they have no sense."""

    root: str
    type: str
    optimizer: str | None
    steps: int
    forwards: int | tuple[int, ...] | None = 1
    backwards: int | tuple[int, ...] | None = 1
    unit: str = "optimizer"
    skipped: tuple[int, ...] = ()
    wrappers: tuple[str, ...] = ()
    evaluations: int = 0
    merged: int = 1
    elsewhere: int = 0
    unheld: tuple[str, ...] = ()
    compiled: bool = False
    late: bool = False  # nothing is called: it is known when its optimizer steps first
    named: bool = True  # its name is that of a variable


@dataclass(frozen=True)
class Script:
    """`args` has WEIGHTS for the file of final weights, or None if no file is written.

    `others` are the types of modules that are called and not trained.
    """

    args: tuple[str, ...]
    records: dict[str, Record] = field(default_factory=dict)
    status: int = 0
    ended: str = "completed"
    others: tuple[str, ...] = ()
    error: str | None = None


def script(*args: str, records=(), **more) -> Script:
    return Script(args, {record.root: record for record in records}, **more)


SCRIPTS = {
    "cnn": script(
        "cnn_argparse.py",
        "--save-model",
        "WEIGHTS",
        records=[Record("model", "Net", "SGD", 8, evaluations=4)],
    ),
    "notebook": script("notebook.py", records=[Record("model", "Sequential", "Adam", 20)]),
    "gan": script(
        "gan.py",
        "--outf",
        "WEIGHTS",
        records=[
            # the backward of errG reaches the discriminator too; zero_grad() erases that
            Record("netD", "Discriminator", "Adam", 6, forwards=None, backwards=None),
            Record("netG", "Generator", "Adam", 6, evaluations=2),
        ],
    ),
    "distillation": script(
        "distillation.py",
        records=[Record("student", "Sequential", "SGD", 8, forwards=1)],
        others=("Sequential", "Sequential"),
    ),
    "accumulation": script(
        "accumulation.py",
        "WEIGHTS",
        records=[Record("model", "Regressor", "AdamW", 6, (4, 4, 2, 4, 4, 2), (4, 4, 2, 4, 4, 2))],
    ),
    "amp": script(
        "amp_scaler.py",
        "WEIGHTS",
        records=[Record("net", "Sequential", "SGD", 10, skipped=(2, 6))],
    ),
    "amp and clipping": script(
        "amp_scaler.py",
        "WEIGHTS",
        "--clip",
        "1",
        records=[Record("net", "Sequential", "SGD", 10, skipped=(2, 6))],
    ),
    "lbfgs": script("lbfgs.py", records=[Record("seq", "Sequence", "LBFGS", 3, None, None)]),
    "step in backward": script(
        "step_in_backward.py",
        "WEIGHTS",
        records=[Record("model", "Sequential", "Adam", 7, merged=10)],
    ),
    "forward-forward": script(
        "forward_forward.py",
        "--save",
        "WEIGHTS",
        records=[  # .forward() is not a call that hooks see
            Record("layer12", "Layer", "Adam", 4, forwards=None, named=False, late=True),
            Record("layer10", "Layer", "Adam", 4, forwards=None, named=False, late=True),
        ],
    ),
    "frozen": script(
        "frozen_backbone.py", records=[Record("model", "Classifier", "SGD", 6, evaluations=2)]
    ),
    "rebuilt": script(
        "rebuilt.py",
        records=[
            Record("net of epoch 1", "Sequential", "RMSprop", 4, named=False),
            Record("net of epoch 2", "Sequential", "RMSprop", 4, named=False),
        ],
    ),
    "by hand": script(
        "by_hand.py",
        "WEIGHTS",
        records=[Record("model", "Sequential", None, 12, unit="backward")],
    ),
    "functional": script("functional.py", records=[Record("module", "Field", "Adam", 6)]),
    "no model": script("no_model.py", "WEIGHTS", ended="exit"),
    "curve": script(
        "curve_fit.py",
        records=[
            Record("tensors", "LooseParameters", "SGD", 8, forwards=None, named=False, late=True)
        ],
    ),
    "reinforce": script(
        "reinforce.py",
        "--weights",
        "WEIGHTS",
        records=[Record("policy", "Policy", "Adam", 6, forwards=None)],
    ),
    "rnn": script("rnn_states.py", records=[Record("model", "CharModel", "Adagrad", 6)]),
    "two towers": script(
        "two_towers.py",
        "WEIGHTS",
        records=[
            Record("query_tower", "Tower", "AdamW", 9, elsewhere=3),
            Record("document_tower", "DocumentTower", "AdamW", 9, elsewhere=3),
        ],
    ),
    "siamese": script("siamese.py", records=[Record("encoder", "Encoder", "Adadelta", 5, 2)]),
    "data parallel": script(
        "data_parallel.py",
        "WEIGHTS",
        records=[Record("model", "Small", "SGD", 5, wrappers=("DataParallel",))],
    ),
    "compiled": script(
        "compiled.py",
        "eager",
        "WEIGHTS",
        records=[
            Record("model", "Sequential", "Adam", 5, None, wrappers=("OptimizedModule",), compiled=True)
        ],
    ),
    "compiled by AOT": script(
        "compiled.py",
        "aot_eager",
        "WEIGHTS",
        records=[
            Record("model", "Sequential", "Adam", 5, None, wrappers=("OptimizedModule",), compiled=True)
        ],
    ),
    "trainer": script(
        "trainer_class.py", records=[Record("model", "Model", "SGD", 12, evaluations=3)]
    ),
    "loader": script(
        "loader_workers.py", "--out", "WEIGHTS", records=[Record("net", "Sequential", "NAdam", 8)]
    ),
    "pickles": script(
        "pickles_itself.py",
        records=[Record("net", "Net", "SGD", 3), Record("again", "Net", "SGD", 1, named=False)],
    ),
    "exit": script(
        "exit_three.py",
        "WEIGHTS",
        records=[Record("model", "Bilinear", "SGD", 4)],
        status=3,
        ended="exit",
    ),
    "raises": script(
        "raises.py",
        records=[Record("net", "Net", "SGD", 4, forwards=1)],
        status=1,
        ended="exception",
        error="RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x5 and 4x4)",
    ),
    "interrupted": script(
        "interrupted.py",
        "WEIGHTS",
        records=[Record("model", "Linear", "Adam", 4)],
        status=-2,
        ended="interrupted",
        error="KeyboardInterrupt",
    ),
    "package": script(
        "-m", "package_run", "WEIGHTS", "3", records=[Record("net", "Net", "Adam", 6)]
    ),
    "spawned": script("spawned.py", "WEIGHTS"),
    "forked": script("forked.py", "WEIGHTS", records=[Record("model", "Sequential", "SGD", 4)]),
    "relaunch": script("relaunch.py", "WEIGHTS"),
    "gpt": script("gpt_tied.py", records=[Record("model", "GPT", "AdamW", 6, 2, 2, evaluations=2)]),
    "gradient penalty": script(
        "gradient_penalty.py", "WEIGHTS", records=[Record("net", "Sequential", "SGD", 6)]
    ),
    "nan": script("becomes_nan.py", records=[Record("net", "Net", "SGD", 10)]),
}
# They import Python and torch again in processes of their own.
REAL = ("spawned", "relaunch")
# Started by torchrun, with two ranks.
RANKS = {
    "ddp": script(
        "ddp_gloo.py",
        records=[
            Record("model", "ToyModel", "SGD", 4, 2, 2, wrappers=("DistributedDataParallel",))
        ],
    ),
    "fsdp2": script("fsdp2_gloo.py", records=[Record("model", "FSDPSequential", "Adam", 4)]),
}
