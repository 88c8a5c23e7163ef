"""Explorers that leave Python: ONNX files, and pages that play them."""

from icpe.export.html_file import export_html as export_html
from icpe.export.onnx_file import export_onnx as export_onnx
from icpe.export.runner import write_runner as write_runner
