"""Compares hookcli with hooks attached by hand, on the architectures of transformers.

`python -m benchmarks.proof.run [names...] [--markdown FILE]` needs the extra `dev` and an hour.
"""
