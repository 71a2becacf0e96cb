"""Probes that read source code: of the classes that ran, and of the user's files."""
