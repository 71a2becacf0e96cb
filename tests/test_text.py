"""Words for messages."""

import pytest

from hookcli.text import counted, first_line, join_names, nearest, pluralize, shorten, with_article


def test_the_nearest_word_is_one_that_is_alike():
    assert nearest("forwrd", ["forward", "backward"]) == "forward"
    assert nearest("xyz", ["forward", "backward"]) is None


def test_case_counts_unless_it_is_ignored():
    assert nearest("FORWARD", ["Forward"]) is None
    assert nearest("FORWARD", ["Forward"], ignore_case=True) == "Forward"


def test_the_cutoff_says_how_alike_words_are_at_the_least():
    assert nearest("abxx", ["abyy"], cutoff=0.5) == "abyy"  # 2 * 2 / 8
    assert nearest("abxx", ["abyy"], cutoff=0.6) is None


def test_a_noun_has_the_number_of_its_count():
    assert [counted(n, "call") for n in (0, 1, 2, 3000)] == [
        "0 calls",
        "1 call",
        "2 calls",
        "3,000 calls",
    ]
    assert [pluralize(n, "call has", "calls have") for n in (1, 2)] == ["call has", "calls have"]


@pytest.mark.parametrize(
    ("names", "text"),
    [([], ""), (["a"], "a"), (["a", "b"], "a, b"), (["a", "b", "c", "d"], "a, b and 2 more")],
)
def test_of_many_names_the_first_are_given(names, text):
    assert join_names(names, 2) == text


def test_how_many_names_are_left_can_be_told_otherwise():
    assert join_names(["a", "b", "c"], 1, rest=" +{}") == "a +2"


def test_the_first_line_is_not_blank():
    assert first_line("\n  \n a b \nc") == "a b"
    assert first_line(" \n") == ""


def test_a_text_is_cut_at_its_end():
    assert [shorten("abcd", width) for width in (5, 4, 3, 1, 0)] == [
        "abcd",
        "abcd",
        "ab…",
        "…",
        "…",
    ]


def test_the_article_fits_the_sound():
    names = ["Embedding", "LSTM", "RNNCell", "GRU", "UNet", "optimizer", "loss", "MLP"]
    assert " ".join(map(with_article, names)) == (
        "an Embedding an LSTM an RNNCell a GRU a UNet an optimizer a loss an MLP"
    )
