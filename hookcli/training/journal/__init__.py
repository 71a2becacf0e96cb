"""Writes the journal of a training in the script's process, and looks whether somebody asks."""
