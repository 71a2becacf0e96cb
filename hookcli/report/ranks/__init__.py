"""The reports of several ranks as one."""
