"""What a hook does when it fires: the table of all actions, and their code."""
