"""The worker: the child process in which models run, and the parent's side, without torch."""
