"""Joined figures of sharded trainings, beside those of plain PyTorch and of one process."""
