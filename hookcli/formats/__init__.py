"""Formats turn a report into text: one file per format. Nothing here prints or imports torch."""
