"""The data type of a format, which is a row of the registry."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from hookcli.formats.results import KINDS, Kind, Result, kind_of

if TYPE_CHECKING:
    from hookcli.formats.view import View

_BUILD, _LOAD = "document.build:build", "document.build:load"  # the document of a result


@dataclass(frozen=True, slots=True)
class Format:
    """One format: its description for users, and the function that makes its text.

    The function is "module:function" below hookcli.formats, imported when it is called: a
    `printer` of documents, which gets a document and a view; or else a `renderer`, which gets a
    result of one of the `kinds` and a view. It returns text, bytes, or files by name if the format
    `writes_folder`.
    """

    name: str
    description: str  # a line of `hookcli list formats`
    read_by: str
    example: str
    printer: str = ""
    renderer: str = ""
    kinds: tuple[Kind, ...] = KINDS
    suffix: str = ""  # of files that have this format if none is given
    shows_tree: bool = False  # the printer gets the document as a tree
    notes: tuple[str, ...] = ()
    needs_timings: bool = False  # which require a run with real tensors
    shows_flops: bool = False  # which the run then counts, whatever its command
    has_step_summary: bool = False  # a check is also appended to the summary of the CI step
    has_rank_files: bool = False  # each rank writes its own file
    writes_folder: bool = False  # the target is a folder, to which files are added: see `files`
    opened_by: str = ""  # the program that shows the text, which a terminal cannot
    package: str = ""  # the package that the format needs, from the extra of its name

    def render(self, result: Result, view: View) -> str | bytes:
        """Return a report or a diff in this format.

        Raises
        ------
        LookupError : the format does not support results of this kind, or writes a folder.
        RequestError : the view has a column or sort key that the report does not support.
        """
        self._check(result)
        if self.writes_folder:
            raise LookupError(f"the format {self.name} writes a folder")
        if self.printer:
            document = _function(_BUILD)(result, view, as_tree=self.shows_tree)
            return cast("str | bytes", _function(self.printer)(document, view))
        return cast("str | bytes", _function(self.renderer)(result, view))

    def files(self, result: Result, view: View) -> dict[str, bytes]:
        """Return the contents of the files of a format that writes a folder, by name.

        The names are new ones, so that files of other reports stay.

        Raises
        ------
        LookupError : the format does not support results of this kind.
        """
        self._check(result)
        return cast("dict[str, bytes]", _function(self.renderer)(result, view))

    def load(self, name: str) -> None:
        """Import what renders results of a kind, or reports of a command, which takes time."""
        if self.printer:
            _function(_LOAD)(name, as_tree=self.shows_tree)
        _function(self.printer or self.renderer)

    def _check(self, result: Result) -> None:
        kind = kind_of(result)
        if kind not in self.kinds:
            raise LookupError(f"the format {self.name} does not support a {kind}")


def _function(name: str) -> Any:
    module, _, function = name.partition(":")
    return getattr(import_module(f"hookcli.formats.{module}"), function)
