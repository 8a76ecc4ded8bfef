# SPDX-License-Identifier: MIT
"""A random graph under construction whose values may have any element type."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from random_graphs import Builder

NEWEST_OPSET = 28
FLOATS = [np.float32, np.float32, np.float32, np.float64, np.float16]
INTEGERS = [np.int64, np.int32, np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64]
SIGNED = [np.int64, np.int32, np.int8, np.int16]
NUMBERS = FLOATS + FLOATS + INTEGERS
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 3e38, -3e38, 65504.0, 0.5, -0.5, 1.5, 2.5]
DOMAINS = {"com.microsoft": 1}
REUSED = 0.5  # share of operands that an earlier node computes, where one fits


def onnx_type(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


class TypedBuilder(Builder):
    """`feeds` are the graph's inputs by name. `is_chain`: operands may be what earlier nodes computed."""

    def __init__(self, seed, opset, is_chain=False):
        super().__init__(seed, opset)
        self.is_chain = is_chain
        self.feeds, self.infos, self.types, self.declared = {}, [], {}, {}
        self.domains = {"": opset}

    # --- draws -------------------------------------------------------------------------------------------------------------
    def pick(self, options):
        """One of the options; in a chain mostly float32 where that is one, because a chain has a result only where all its calls have."""
        if self.is_chain and any(one is np.float32 for one in options) and self.chance(0.85):
            return np.float32
        return super().pick(options)

    def integer(self, low, high):
        """From low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def dims(self, least=0, most=4, largest=6, empty=0.02):
        """A shape; rarely with a dimension of 0."""
        dims = [self.integer(1, largest) for _ in range(self.integer(least, most))]
        if dims and self.chance(empty):
            dims[self.integer(0, len(dims) - 1)] = 0
        return dims

    def narrowed(self, dims):
        """A shape that broadcasts to `dims`."""
        narrow = [d if self.chance(0.6) else 1 for d in dims]
        return narrow[self.integer(0, len(narrow)):] if self.chance(0.4) else narrow

    def axis(self, rank):
        return self.integer(-rank, rank - 1)

    def axes(self, rank):
        """Some different axes, counted from either side."""
        chosen = [int(a) for a in self.rng.permutation(rank)[:self.integer(1, max(rank, 1))]]
        return [a if self.chance(0.6) else a - rank for a in chosen]

    def numbers(self, dims, dtype=np.float32, low=-2.0, high=2.0, special=0.0):
        dtype = np.dtype(dtype)
        if dtype == bool:
            return self.rng.random(dims) < 0.5
        if dtype.kind in "iu":
            low = max(int(np.floor(low)), np.iinfo(dtype).min, 0 if dtype.kind == "u" else np.iinfo(dtype).min)
            return self.rng.integers(low, max(int(high), low + 1), size=dims, endpoint=True).astype(dtype)
        array = np.asarray(self.rng.uniform(low, high, dims)).astype(dtype)
        if special and array.size and not self.is_chain and self.chance(special):
            places = self.rng.random(array.shape) < 0.3
            with np.errstate(over="ignore"):
                array = np.where(places, self.rng.choice(SPECIAL, array.shape).astype(dtype), array).astype(dtype)
        return array

    # --- values ------------------------------------------------------------------------------------------------------------
    def given(self, array):
        """A graph input with this value."""
        name = f"x{len(self.feeds)}"
        array = self.feeds[name] = np.asarray(array)
        dims = [f"{name}_{k}" if self.chance(0.1) else d for k, d in enumerate(array.shape)]
        self.infos.append(helper.make_tensor_value_info(name, onnx_type(array.dtype), dims))
        return name

    def stored(self, array, late=0.1):
        """What is mostly an initializer, and rarely (share `late`) known only when the model runs."""
        array = np.asarray(array)
        return self.given(array) if self.chance(late) else self.constant(array, array.dtype)

    def ints(self, values, late=0.1):
        return self.stored(np.asarray(values, np.int64), late)

    def operand(self, dims, dtype=np.float32, low=None, high=None, late=0.6, special=0.0):
        """A value of this shape and type: an input, an initializer or, where its range does not matter, one computed before."""
        if low is None and high is None and self.is_chain and self.chance(REUSED):
            found = self.reused(dims, dtype)
            if found:
                return found
        low, high = -2.0 if low is None else low, 2.0 if high is None else high
        return self.stored(self.numbers(dims, dtype, low, high, special), late)

    def reused(self, dims, dtype):
        """An earlier value of this type under these dims, or None."""
        count = int(np.prod(dims))
        fitting = [name for name, (known, shape) in self.types.items() if known == np.dtype(dtype) and shape == list(dims)]
        if fitting and self.chance(0.8):
            return self.pick(fitting)
        larger = [name for name, (known, shape) in self.types.items() if known == np.dtype(dtype) and 0 < count <= np.prod(shape) <= 4000]
        if not larger or self.opset < 10:
            return None
        name = self.pick(larger)
        if np.prod(self.types[name][1]) != count:
            flat = self.call("Reshape", [name, self.ints([-1], late=0)])
            name = self.call("Slice", [flat, self.ints([0], late=0), self.ints([count], late=0)])
        return self.call("Reshape", [name, self.ints(dims, late=0)])

    def call(self, op, inputs, outputs=1, domain="", types=None, **attributes):
        """Adds a node; its output, or a list of them. `types` of the outputs: where the onnx library does not infer them."""
        names = [f"v{len(self.shapes) + i}" for i in range(outputs)]
        self.shapes.update(dict.fromkeys(names))
        attributes = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(op, inputs, names, name=f"{op}_{len(self.nodes)}", domain=domain, **attributes))
        self.declared.update(zip(names, types or []))
        if domain:
            self.domains[domain] = DOMAINS[domain]
        elif self.is_chain:
            self.learn_types(self.nodes[-1])
        return names if outputs > 1 else names[0]

    def learn_types(self, node):
        """Remembers the outputs whose shape the onnx library knows."""
        read = {name for name in node.input if name}
        stored = {one.name: one for one in self.initializers if one.name in read}
        types = {name: helper.make_tensor_type_proto(one.data_type, list(one.dims)) for name, one in stored.items()}
        types |= {name: helper.make_tensor_type_proto(onnx_type(self.feeds[name].dtype), self.feeds[name].shape) for name in read if name in self.feeds}
        types |= {name: helper.make_tensor_type_proto(onnx_type(self.types[name][0]), self.types[name][1]) for name in read if name in self.types}
        if set(types) != read:
            return
        try:
            schema = onnx.defs.get_schema(node.op_type, self.opset, "")
            found = onnx.shape_inference.infer_node_outputs(schema, node, types, stored)
        except Exception:  # what cannot be inferred is not read by later nodes
            return
        for name, kind in found.items():
            shape = kind.tensor_type.shape
            if not kind.HasField("tensor_type") or not kind.tensor_type.HasField("shape") or any(not d.HasField("dim_value") for d in shape.dim):
                continue
            dims = [d.dim_value for d in shape.dim]
            if kind.tensor_type.elem_type in (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.INT32,
                                              TensorProto.INT8, TensorProto.UINT8, TensorProto.BOOL) and np.prod(dims) <= 6000:
                self.types[name] = (np.dtype(helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type)), dims)

    # --- the model ---------------------------------------------------------------------------------------------------------
    def model(self, name):
        """The model; every value that no node reads is an output. Raises what the onnx library says of an invalid one."""
        if not self.feeds:
            self.call("Identity", [self.given(self.numbers([2]))])
        read = {value for node in self.nodes for value in node.input}
        ends = [value for node in self.nodes for value in node.output if value and value not in read]
        model = self.inferred(name, ends)
        unknown = {one.name for one in model.graph.output if one.type.HasField("tensor_type") and not one.type.tensor_type.HasField("shape")}
        if unknown:  # the checker wants the rank of an output
            ends = [self.flattened(end) if end in unknown else end for end in ends]
            model = self.inferred(name, ends + [value for node in self.nodes[-len(unknown) * 2:] for value in node.output if node.op_type == "Shape"])
        del model.graph.value_info[:]
        onnx.checker.check_model(model)
        return model

    def flattened(self, value):
        """`value` as a list; its shape is an output of its own."""
        self.call("Shape", [value])
        return self.call("Reshape", [value, self.ints([-1], late=0)])

    def inferred(self, name, ends):
        declared = {value: helper.make_tensor_value_info(value, onnx_type(dtype), None) for value, dtype in self.declared.items()}
        outputs = [declared.pop(end, onnx.ValueInfoProto(name=end)) for end in ends]
        graph = helper.make_graph(self.nodes, name, self.infos, outputs, self.initializers, value_info=list(declared.values()))
        opsets = [helper.make_opsetid(domain, version) for domain, version in self.domains.items()]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=14 if self.opset > 27 else 13 if self.opset > 23 else 10 if self.opset > 20 else 8)
        return onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)


def array_tensor(array, name=""):
    return numpy_helper.from_array(np.asarray(array), name)
