"""Broken models made from healthy ones, and whether the verdict names what was broken.

`python -m benchmarks.proof.detection.run [names] [--markdown FILE]`
"""
