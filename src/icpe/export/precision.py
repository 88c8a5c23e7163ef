"""Small models compute in double precision.

Where two answers are almost equally good, a network may tell them apart by differences
of large numbers, and then the roundings of two runtimes show in the posterior. In
double precision those of the exported model do not, and only the original's are left.
Small models are no slower for it. What goes in and out, and what is stored, stays in
single precision.
"""

import math
from typing import Any

import numpy as np

LARGEST = 2**18
"""Numbers in a model up to which it is small."""


def is_small(proto: Any) -> bool:
    """Whether a model has few enough numbers to compute with doubles."""
    sizes = (math.prod(it.dims) for it in proto.graph.initializer)
    return sum(sizes) <= LARGEST


def in_double(proto: Any) -> Any:
    """The same model, with doubles between its inputs and its outputs."""
    from onnx import TensorProto, helper

    single, double = TensorProto.FLOAT, TensorProto.DOUBLE
    found = type(proto)()
    found.CopyFrom(proto)
    graph = found.graph
    before: list[Any] = []
    renamed = {}
    stored = [it.name for it in graph.initializer if it.data_type == single]
    given = [it.name for it in graph.input if it.type.tensor_type.elem_type == single]
    for name in (*stored, *given):
        renamed[name] = f"{name}_double"
        before.append(helper.make_node("Cast", [name], [renamed[name]], to=double))
    after = []
    for output in graph.output:
        if output.type.tensor_type.elem_type == single:
            renamed[output.name] = f"{output.name}_double"
            cast = helper.make_node(
                "Cast", [renamed[output.name]], [output.name], to=single
            )
            after.append(cast)
    for node in graph.node:
        node.input[:] = [renamed.get(name, name) for name in node.input]
        node.output[:] = [renamed.get(name, name) for name in node.output]
        for attribute in node.attribute:
            if attribute.name in ("to", "dtype") and attribute.i == single:
                attribute.i = double
            if attribute.t.data_type == single:
                attribute.t.CopyFrom(_widened(attribute.t))
    nodes = [*before, *graph.node, *after]
    del graph.node[:], graph.value_info[:]
    graph.node.extend(nodes)
    return found


def _widened(tensor: Any) -> Any:
    from onnx import numpy_helper

    array = numpy_helper.to_array(tensor).astype(np.float64)
    return numpy_helper.from_array(array, tensor.name)
