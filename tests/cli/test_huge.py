"""A model that no machine here could hold: Llama 3.1 405B, by its public config."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time

import pytest

from hookcli.worker.processes import resident
from tests.conftest import ROOT

SOURCE = """
from transformers import LlamaConfig, LlamaForCausalLM

def build_model():
    return LlamaForCausalLM(LlamaConfig(
        hidden_size=16384, intermediate_size=53248, num_hidden_layers=126,
        num_attention_heads=128, num_key_value_heads=8, vocab_size=128256,
        max_position_embeddings=131072, tie_word_embeddings=False,
    ))
"""
EMBEDDING = 128256 * 16384
ATTENTION = 2 * 16384 * 16384 + 2 * 16384 * 1024
LAYER = ATTENTION + 3 * 16384 * 53248 + 2 * 16384
PARAMETERS = 2 * EMBEDDING + 126 * LAYER + 16384


@pytest.mark.slow
def test_405_billion_parameters_are_inspected_in_a_gigabyte(tmp_path):
    pytest.importorskip("transformers")
    assert PARAMETERS == 405_853_388_800
    (tmp_path / "llama.py").write_text(SOURCE)
    child = subprocess.Popen(
        [sys.executable, "-m", "hookcli", "inspect", "llama.py", "-i", "1x8:int64", "-f", "json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    said = []
    reader = threading.Thread(target=lambda: said.append(child.stdout.read()))
    reader.start()
    peak = 0
    while child.poll() is None:
        peak = max(peak, resident(child.pid))
        time.sleep(0.02)
    reader.join()
    child.stdout.close()
    report = json.loads(said[0])
    assert report["totals"]["parameters"] == PARAMETERS
    assert report["run"]["tensors"] == "fake"
    # Every weight but the table's meets every token once; attention adds 2 x 8 x 8 x 16384 a layer.
    # The rotary angles are an outer product, which is elementwise.
    products = 126 * (ATTENTION + 3 * 16384 * 53248 + 2 * 8 * 16384) + EMBEDDING
    assert report["totals"]["macs"] == 8 * products
    assert peak <= 1.1e9
