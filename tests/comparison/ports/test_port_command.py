"""`hookcli diff` of two files whose models have other names."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import run_cli

MODELS = Path(__file__).with_name("models.py").read_text()
BUILDS = """

def original():
    torch.manual_seed(1)
    return Original()


def port():
    torch.manual_seed(2)
    return Port(eps=1e-2)
"""


def test_a_port_is_compared_through_a_map(tmp_path, monkeypatch):
    (tmp_path / "net.py").write_text(MODELS + BUILDS)
    monkeypatch.chdir(tmp_path)
    sides = ("net.py:original", "net.py:port", "-i", "2x3:int64:0..10")
    result = run_cli("diff", *sides, "--suggest-map", "map.yaml")
    assert result.status == 1, result.err
    said = " ".join(result.out.split())
    assert "Weights those of A, loaded into B through an inferred map" in said
    assert "h.0.ln_1 (LayerNorm) and layers.0.first (LayerNorm) agree" in said
    assert "(eps=1e-05 in A and 0.01 in B)" in said
    lines = (tmp_path / "map.yaml").read_text().splitlines()
    assert "layers.{i}.expand: h.{i}.mlp.up.T" in lines

    text = (tmp_path / "map.yaml").read_text().replace("norm: ln_f\n", "")
    (tmp_path / "map.yaml").write_text(text)
    result = run_cli("diff", *sides, "--map", "map.yaml", "-f", "json")
    assert '"weights": "given"' in result.out
    assert "2 parameters of B have no counterpart in A, and keep B's values: norm." in result.out
