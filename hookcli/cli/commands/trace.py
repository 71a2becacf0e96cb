"""`hookcli trace`: every hook that fired, in its order."""

from __future__ import annotations

import typer

from hookcli.cli import options
from hookcli.cli.execute import run_and_report


def trace(
    context: typer.Context,
    model: options.Model = None,
    config: options.Config = None,
    arg: options.Arguments = None,
    weights: options.Weights = None,
    trust: options.Trust = False,
    data_only: options.DataOnly = False,
    inputs: options.Inputs = None,
    batch_size: options.BatchSize = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    tensors: options.Tensors = None,
    mode: options.AnyMode = None,
    seed: options.Seed = None,
    loss: options.Loss = None,
    steps: options.Steps = None,
    no_grad: options.NoGrad = None,
    timeout: options.Timeout = None,
    max_memory: options.MaxMemory = None,
    kinds: options.Kinds = None,
    stream: options.Stream = None,
    flops: options.Flops = None,
    verify_neutral: options.VerifyNeutral = None,
    nproc: options.Nproc = None,
    parallel: options.Parallel = None,
    fail_on: options.FailOn = None,
    phase: options.Phase = None,
    depth: options.Depth = None,
    only: options.Only = None,
    columns: options.EventColumns = None,
    sort: options.EventSorted = None,
    formats: options.Formats = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    color: options.Color = "auto",
) -> int:
    """Show every hook that fires, in the order in which they fire.

    The model is built and run as far as its hooks' kinds need, in a process of its own.
    """
    return run_and_report(context, "trace")
