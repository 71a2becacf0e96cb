"""An eighth set of cases, run once before a look and then used for tuning."""
