"""The documentation: its examples run, its links lead somewhere, its site builds."""
