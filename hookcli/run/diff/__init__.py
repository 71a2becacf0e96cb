"""What two runs that are compared exchange and keep."""
