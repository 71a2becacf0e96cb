"""What each tool says of faulty and of healthy trainings.

    python -m benchmarks.comparison faults [--tools torchlens ...] [--trainings bf16 ...] [--save FOLDER]

Each training of `trainings/` runs 60 steps with each tool.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.comparison.attached import TOOLS, run
