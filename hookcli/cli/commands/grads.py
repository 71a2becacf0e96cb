"""`hookcli grads`: the gradient that reached every parameter and every layer."""

from __future__ import annotations

import typer

from hookcli.cli import options
from hookcli.cli.execute import run_and_report


def grads(
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
    mode: options.TrainMode = None,
    seed: options.Seed = None,
    loss: options.Loss = None,
    steps: options.Steps = None,
    no_grad: options.NoGrad = None,
    timeout: options.Timeout = None,
    max_memory: options.MaxMemory = None,
    flops: options.Flops = None,
    verify_neutral: options.VerifyNeutral = None,
    nproc: options.Nproc = None,
    parallel: options.Parallel = None,
    fail_on: options.FailOn = None,
    depth: options.Depth = None,
    only: options.Only = None,
    columns: options.GradColumns = None,
    sort: options.GradSorted = None,
    formats: options.Formats = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    color: options.Color = "auto",
) -> int:
    """Show the gradient that reached every parameter.

    The model is built and run forward and backward, on real tensors, in a process of its own.
    """
    return run_and_report(context, "grads")
