"""Models that declare no input, written as they are published, to measure inference.

`tuned` was written with the code of the inference at hand, `held_out` before it was read; nothing
was adapted to it. Their style is that of public code, so lint rules do not apply.
"""
