"""What `hookcli` prints without arguments: what it is, and what to type next."""

from __future__ import annotations

# Plain text, so that it is printed before anything else is imported.
WELCOME = """\
hookcli runs a PyTorch model and shows every layer's shapes, gradients and hooks.

Try:
  hookcli inspect model.py   # every layer: shapes, parameters, mult-adds
  hookcli grads model.py     # the gradient of every parameter
  hookcli check model.py     # rules for CI: NaN, missing gradients; PASSED or FAILED

Run `hookcli --help` for all commands, `hookcli COMMAND --help` for one.
"""
