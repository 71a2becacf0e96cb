"""What hookcli needs of the operating system and of Python: signals, ends of processes, frames."""
