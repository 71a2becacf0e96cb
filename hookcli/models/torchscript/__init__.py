"""TorchScript: PyTorch allows no hooks on a scripted module, so operators are added to its graphs.

hookcli's operators run where each method begins and ends. They see the live values and the module
that runs, and may replace the values.
"""
