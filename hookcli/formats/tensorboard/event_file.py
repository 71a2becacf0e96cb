"""A report as one event file of TensorBoard.

Only the protocol buffers and the record writer of the package are used: its file writers import
tensorflow if that is installed.
"""

from __future__ import annotations

import io
import secrets
import time
from collections.abc import Iterator
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event, SourceMetadata
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_STRING
from tensorboard.summary.writer.record_writer import RecordWriter

from hookcli.formats.registry import FORMATS
from hookcli.formats.tensorboard.histograms import Histogram, histograms
from hookcli.formats.tensorboard.module_graph import module_graph
from hookcli.formats.tensorboard.scalars import scalars
from hookcli.formats.view import View
from hookcli.report.report import Report

_VERSION = "brain.Event:2"  # of the format of event files, which readers check
_TEXT_PLUGIN = "text"
_REPORT = "hookcli/report"  # the tag of the text


def render(report: Report, view: View) -> dict[str, bytes]:
    """Return the content of an event file by its name, which no other file has."""
    now = time.time()
    buffer = io.BytesIO()
    records = RecordWriter(buffer)
    for event in _events(report, view):
        event.wall_time = now
        records.write(event.SerializeToString())
    name = f"events.out.tfevents.{int(now):010d}.hookcli.{secrets.token_hex(4)}"
    return {name: buffer.getvalue()}


def _events(report: Report, view: View) -> Iterator[Any]:
    """Yield the events in the order of their steps; the graph and the text have step 0."""
    yield Event(file_version=_VERSION, source_metadata=SourceMetadata(writer="hookcli"))
    if report.layers:
        yield Event(graph_def=module_graph(report).SerializeToString())
    yield Event(step=0, summary=Summary(value=[_text(report, view)]))
    by_step: dict[int, list[Any]] = {}
    for tag, step, value in scalars(report):
        by_step.setdefault(step, []).append(Summary.Value(tag=tag, simple_value=value))
    for tag, step, histogram in histograms(report):
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


def _text(report: Report, view: View) -> Any:
    """Return the report in Markdown, which the text plugin shows."""
    page = FORMATS["markdown"](report, view).encode("utf-8", "backslashreplace")
    return Summary.Value(
        tag=_REPORT,
        metadata=SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=_TEXT_PLUGIN)),
        tensor=TensorProto(
            dtype=DT_STRING,
            string_val=[page],
            tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)]),
        ),
    )
