"""What hookcli needs of the operating system: signals, the null device, how a process ends."""
