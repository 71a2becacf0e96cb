"""The child process in which models run, and the parent's side of it, which is torch-free."""
