"""all-MiniLM-L6-v2 as an ONNX graph whose weights are bytes: a quarter of the size, and three times as fast.

The graph takes token numbers and a mask, (texts, tokens) each, and gives the vector of each text, already normalised.
It computes what `weights.sentence_vectors` computes, with two liberties: matrices of weights hold whole numbers with a
scale a column, and their inputs are rounded to 256 steps on the way, as ONNX Runtime's dynamic quantisation does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .weights import EPSILON, HEADS, LAYERS, WIDTH

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .weights import Floats, Tensors

TOKENS, MASK, VECTORS = "input_ids", "attention_mask", "sentence_vectors"

FULL_RANGE = 127
HALF_RANGE = 63
"""For processors that add two products in 16 bits: with whole numbers up to 63 the sum cannot overflow."""

_OPSET = 17
_IR_VERSION = 8  # the file format that goes with the opset; later ones shut out older runtimes
_ABSENT = -1e9


def graph_bytes(tensors: Tensors, *, largest: int | None = FULL_RANGE) -> bytes:
    """The model as the content of an .onnx file, its whole numbers at most `largest`; None leaves the floats."""
    from onnx import TensorProto, checker, helper

    graph = _Graph(tensors, largest)
    present = graph.add("Cast", MASK, to=TensorProto.FLOAT)
    absent = graph.add("Mul", graph.add("Sub", graph.number(1), present), graph.number(_ABSENT))
    absent = graph.add("Unsqueeze", absent, graph.whole(1, 2))
    states = _embedded(graph)
    for layer in range(LAYERS):
        states = _layer(graph, f"encoder.layer.{layer}", states, absent)
    _pooled(graph, states, present)
    size = ["texts", "tokens"]
    body = helper.make_graph(
        graph.nodes,
        "all-MiniLM-L6-v2",
        [helper.make_tensor_value_info(name, TensorProto.INT64, size) for name in (TOKENS, MASK)],
        [helper.make_tensor_value_info(VECTORS, TensorProto.FLOAT, ["texts", WIDTH])],
        graph.constants,
    )
    model = helper.make_model(
        body, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION, producer_name="recollect"
    )
    checker.check_model(model)
    data: bytes = model.SerializeToString()
    return data


class _Graph:
    """A graph while it is put together. Values in it go by name; constants that are equal are kept once."""

    def __init__(self, tensors: Tensors, largest: int | None) -> None:
        self.tensors = tensors
        self.largest = largest
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._named: dict[object, str] = {}

    def add(self, operation: str, *inputs: str, output: str | None = None, **attributes: object) -> str:
        """Add an operation, and name its result."""
        return self.split(operation, *inputs, outputs=[output or f"v{len(self.nodes)}"], **attributes)[0]

    def split(self, operation: str, *inputs: str, outputs: list[str], **attributes: object) -> list[str]:
        """Add an operation with several results."""
        from onnx import helper

        self.nodes.append(helper.make_node(operation, list(inputs), outputs, **attributes))
        return outputs

    def constant(self, array: NDArray[Any], *, key: object = None) -> str:
        """Add an array, and name it."""
        from onnx import numpy_helper

        if key is None or key not in self._named:
            name = f"c{len(self.constants)}"
            self.constants.append(numpy_helper.from_array(array, name))
            self._named[key] = name
        return self._named[key]

    def number(self, value: float) -> str:
        """Add a number."""
        import numpy as np

        return self.constant(np.array(value, dtype=np.float32), key=value)

    def whole(self, *values: int) -> str:
        """Add a list of whole numbers, as shapes and axes are given."""
        import numpy as np

        return self.constant(np.array(values, dtype=np.int64), key=values)

    def normalised(self, prefix: str, states: str) -> str:
        """Add a layer normalisation."""
        weight, bias = (self.constant(self.tensors[f"{prefix}.{part}"]) for part in ("weight", "bias"))
        return self.add("LayerNormalization", states, weight, bias, axis=-1, epsilon=EPSILON)

    def dense(self, states: str, weight: Floats, bias: Floats) -> str:
        """Add the product with a matrix (inputs, outputs), in whole numbers if that is asked for, and a bias."""
        import numpy as np
        from onnx import TensorProto

        if self.largest is None:
            product = self.add("MatMul", states, self.constant(np.ascontiguousarray(weight)))
        else:
            whole, scales = rounded(weight, largest=self.largest)
            step = f"q{len(self.nodes)}"
            inputs = self.split(
                "DynamicQuantizeLinear", states, outputs=[f"{step}.whole", f"{step}.scale", f"{step}.zero"]
            )
            zeros = self.constant(np.zeros(whole.shape[1], dtype=np.int8), key=("zeros", whole.shape[1]))
            product = self.add("MatMulInteger", inputs[0], self.constant(whole), inputs[2], zeros)
            scale = self.add("Mul", inputs[1], self.constant(scales))
            product = self.add("Mul", self.add("Cast", product, to=TensorProto.FLOAT), scale)
        return self.add("Add", product, self.constant(bias))


def rounded(weight: Floats, *, largest: int) -> tuple[NDArray[np.int8], Floats]:
    """A matrix as whole numbers from -largest to largest, and what to multiply each column with to have it back."""
    import numpy as np

    scales = np.abs(weight).max(axis=0) / np.float32(largest)
    scales[scales == 0] = 1
    return np.rint(weight / scales).astype(np.int8), scales


def _embedded(graph: _Graph) -> str:
    from onnx import TensorProto

    table = graph.tensors["embeddings.word_embeddings.weight"]
    # Every text is the first of its kind, so that the one row for that can be part of every position.
    positions = (
        graph.tensors["embeddings.position_embeddings.weight"]
        + graph.tensors["embeddings.token_type_embeddings.weight"][0]
    )
    if graph.largest is None:
        words = graph.add("Gather", graph.constant(table), TOKENS)
    else:
        whole, scales = rounded(table.T, largest=FULL_RANGE)  # a row each; nothing is added up in 16 bits here
        words = graph.add("Cast", graph.add("Gather", graph.constant(whole.T.copy()), TOKENS), to=TensorProto.FLOAT)
        words = graph.add("Mul", words, graph.add("Gather", graph.constant(scales[:, None]), TOKENS))
    length = graph.add("Slice", graph.add("Shape", TOKENS), graph.whole(1), graph.whole(2))
    places = graph.add("Slice", graph.constant(positions), graph.whole(0), length, graph.whole(0))
    return graph.normalised("embeddings.LayerNorm", graph.add("Add", words, places))


def _layer(graph: _Graph, prefix: str, states: str, absent: str) -> str:
    import numpy as np

    tensors = graph.tensors
    shrink = np.float32((WIDTH // HEADS) ** -0.5)  # of the scores; as part of the query it costs nothing
    parts = [(f"{prefix}.attention.self.{part}", by) for part, by in (("query", shrink), ("key", 1), ("value", 1))]
    # The three products have the same input: as one they are rounded once and run as one.
    weight = np.concatenate([tensors[f"{name}.weight"].T * np.float32(by) for name, by in parts], axis=1)
    bias = np.concatenate([tensors[f"{name}.bias"] * np.float32(by) for name, by in parts])
    joined = graph.dense(states, weight, bias)
    thirds = [f"{prefix}.{part}" for part in ("query", "key", "value")]
    query, key, value = graph.split("Split", joined, graph.whole(WIDTH, WIDTH, WIDTH), outputs=thirds, axis=-1)

    def heads(part: str, order: list[int]) -> str:
        return graph.add("Transpose", graph.add("Reshape", part, graph.whole(0, 0, HEADS, WIDTH // HEADS)), perm=order)

    scores = graph.add("MatMul", heads(query, [0, 2, 1, 3]), heads(key, [0, 2, 3, 1]))
    shares = graph.add("Softmax", graph.add("Add", scores, absent), axis=-1)
    seen = graph.add("Transpose", graph.add("MatMul", shares, heads(value, [0, 2, 1, 3])), perm=[0, 2, 1, 3])
    seen = graph.add("Reshape", seen, graph.whole(0, 0, WIDTH))

    def dense(name: str, given: str) -> str:
        return graph.dense(given, tensors[f"{prefix}.{name}.weight"].T, tensors[f"{prefix}.{name}.bias"])

    attended = graph.add("Add", dense("attention.output.dense", seen), states)
    attended = graph.normalised(f"{prefix}.attention.output.LayerNorm", attended)
    narrow = dense("output.dense", _gelu(graph, dense("intermediate.dense", attended)))
    return graph.normalised(f"{prefix}.output.LayerNorm", graph.add("Add", narrow, attended))


def _gelu(graph: _Graph, x: str) -> str:
    # In the steps, and the order of steps, that ONNX Runtime knows to do as one.
    erf = graph.add("Erf", graph.add("Div", x, graph.number(2**0.5)))
    return graph.add("Mul", graph.add("Mul", x, graph.add("Add", erf, graph.number(1))), graph.number(0.5))


def _pooled(graph: _Graph, states: str, present: str) -> None:
    """The mean over the tokens that are there, made as long as 1. Whether it is a mean or a sum, the length settles."""
    total = graph.add("Mul", states, graph.add("Unsqueeze", present, graph.whole(2)))
    total = graph.add("ReduceSum", total, graph.whole(1), keepdims=0)
    length = graph.add("Max", graph.add("ReduceL2", total, axes=[1], keepdims=1), graph.number(1e-12))
    graph.add("Div", total, length, output=VECTORS)
