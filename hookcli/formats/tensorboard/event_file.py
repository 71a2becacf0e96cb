"""A report as one event file of TensorBoard.

Only the protocol buffers and the record writer of the package are used: its file writers import
tensorflow if that is installed.
"""

from __future__ import annotations

import io
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from tensorboard.compat.proto.event_pb2 import Event, SourceMetadata
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_STRING
from tensorboard.summary.writer.record_writer import RecordWriter

from hookcli.console import escape
from hookcli.formats.registry import FORMATS
from hookcli.formats.tensorboard.histograms import Histogram, Labelled, histograms
from hookcli.formats.tensorboard.module_graph import module_graph
from hookcli.formats.tensorboard.scalars import Scalar, scalars, training_scalars
from hookcli.formats.view import View
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport

T = TypeVar("T")

_VERSION = "brain.Event:2"  # of the format of event files, which readers check
_TEXT_PLUGIN = "text"
_REPORT = "hookcli/report"  # the tag of the text


def render(report: Report | TrainingReport, view: View) -> dict[str, bytes]:
    """Return the content of an event file by its name, which no other file has.

    Several records of a training are told apart by their names.
    """
    page = str(FORMATS["markdown"].render(report, view))
    if isinstance(report, Report):
        return _file(_events(page, [report], scalars(report), histograms(report)))
    several = len(report.records) > 1
    return _file(
        _events(
            page,
            report.records[:1],
            _named(((record, training_scalars(record)) for record in report.records), several),
            _named(((record, histograms(record)) for record in report.records), several),
        )
    )


def _named(
    records: Iterable[tuple[Report, Iterable[tuple[str, int, T]]]], several: bool
) -> Iterator[tuple[str, int, T]]:
    """Yield (tag, step, value) of all records, with the name of the record in the tags."""
    for record, rows in records:
        name = "" if record.training is None else escape(record.training.record)
        for label, step, value in rows:
            group, slash, rest = label.partition("/")
            yield f"{group}/{name}{slash}{rest}" if several else label, step, value


def _file(events: Iterable[Any]) -> dict[str, bytes]:
    now = time.time()
    buffer = io.BytesIO()
    records = RecordWriter(buffer)
    for event in events:
        event.wall_time = now
        records.write(event.SerializeToString())
    name = f"events.out.tfevents.{int(now):010d}.hookcli.{secrets.token_hex(4)}"
    return {name: buffer.getvalue()}


def _events(
    page: str,
    reports: Sequence[Report],
    figures: Iterable[Scalar],
    distributions: Iterable[Labelled],
) -> Iterator[Any]:
    """Yield the events in the order of their steps; the graph and the text have step 0."""
    yield Event(file_version=_VERSION, source_metadata=SourceMetadata(writer="hookcli"))
    for report in reports:
        if report.layers:
            yield Event(graph_def=module_graph(report).SerializeToString())
    yield Event(step=0, summary=Summary(value=[_text(page)]))
    by_step: dict[int, list[Any]] = {}
    for tag, step, value in figures:
        by_step.setdefault(step, []).append(Summary.Value(tag=tag, simple_value=value))
    for tag, step, histogram in distributions:
        by_step.setdefault(step, []).append(Summary.Value(tag=tag, histo=_proto(histogram)))
    for step in sorted(by_step):
        yield Event(step=step, summary=Summary(value=by_step[step]))


def _proto(histogram: Histogram) -> Any:
    return HistogramProto(
        min=histogram.min,
        max=histogram.max,
        num=histogram.count,
        sum=histogram.sum,
        sum_squares=histogram.sum_squares,
        bucket_limit=histogram.limits,
        bucket=histogram.counts,
    )


def _text(page: str) -> Any:
    """Return the report in Markdown, which the text plugin shows."""
    text = page.encode("utf-8", "backslashreplace")
    return Summary.Value(
        tag=_REPORT,
        metadata=SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=_TEXT_PLUGIN)),
        tensor=TensorProto(
            dtype=DT_STRING,
            string_val=[text],
            tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)]),
        ),
    )
