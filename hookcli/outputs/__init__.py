"""What all outputs share: how paths are opened, and what each kind of output escapes."""
