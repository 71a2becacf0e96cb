"""Tables that fit: which columns shrink, in which order, and where titles stand."""

from hookcli.formats.parts.grid import LAST_TURN, Column, draw

ROWS = [("a" * 12, "b" * 12), ("c", "d")]


def columns(**of_a):
    return {
        "a": Column("A", lambda row: row[0], **of_a),
        "b": Column("B", lambda row: row[1], least=6),
    }


def widths(table):
    return [len(part) for part in table.splitlines()[1].split()]


def test_columns_shrink_turn_by_turn():
    turns = ((0, 10), (2, 4))
    of = columns(turns=turns)
    assert widths(draw(of, ROWS, width=26)) == [12, 12]
    assert widths(draw(of, ROWS, width=24)) == [10, 12]
    assert widths(draw(of, ROWS, width=18)) == [10, 6]
    assert widths(draw(of, ROWS, width=14)) == [6, 6]
    assert widths(draw(of, ROWS, width=1)) == [4, 6]


def test_in_the_last_turn_a_column_may_become_narrower_than_its_title():
    of = {"a": Column("A title", lambda row: row[0], turns=((0, 3), (LAST_TURN, 4)))}
    assert draw(of, ROWS, width=5).splitlines() == ["A title", "-----", "aa…aa", "c"]


def test_where_titles_have_room_no_column_is_narrower():
    of = {"a": Column("A title", lambda row: row[0], turns=((0, 3), (LAST_TURN, 4)))}
    table = draw(of, ROWS, width=5, title_room=2)
    assert table.splitlines() == ["A title", "---------", "aa…aa", "c"]


def test_without_rows_titles_stand_left_or_nothing_is_drawn():
    of = {"a": Column("A", lambda row: row[0], right=True)}
    assert draw(of, [], width=20) == ""
    assert draw(of, [], width=20, title_room=2, empty=True) == "A\n---"


def test_what_a_short_form_leaves_over_goes_to_columns_that_grow():
    def half(row, width):
        return row[0][: width // 2]

    def grown(grow):
        of = {
            "a": Column("A", lambda row: row[0], least=2, fit=half),
            "b": Column("B", lambda row: row[1], least=2, fit=lambda row, w: row[1][:w], grow=grow),
        }
        return widths(draw(of, [("a" * 12, "b" * 12)], width=18))

    assert grown(True) == [4, 12]
    assert grown(False) == [4, 8]
