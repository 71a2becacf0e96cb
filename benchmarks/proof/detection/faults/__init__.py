"""The faults, by theme."""

from benchmarks.proof.detection.faults import cut, nonfinite, samples, scale, training

THEMES = {
    "The gradient's path": cut.FAULTS,
    "Scale and initialisation": scale.FAULTS,
    "NaN and infinity": nonfinite.FAULTS,
    "Samples, times and modes": samples.FAULTS,
    "Loss and optimizer": training.FAULTS,
}
FAULTS = {fault.name: fault for faults in THEMES.values() for fault in faults}
