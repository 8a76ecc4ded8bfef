# SPDX-License-Identifier: MIT
"""Other forms of a model that mean the same: calls of model-local functions, unsorted nodes, stored shapes that are wrong or missing, sparse
and Constant forms of weights, names that occur twice. ONNX Runtime accepts all of them."""
import numpy as np
import onnx
from onnx import AttributeProto, helper, numpy_helper

FLOAT_REFERENCES = {AttributeProto.FLOAT, AttributeProto.INT, AttributeProto.INTS, AttributeProto.STRING}


def has_graph(node):
    return any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute)


def reads_of(nodes):
    return {name for node in nodes for name in node.input if name}


def captured_names(model):
    """Every name that a nested graph mentions: values that it may read."""
    names = set()

    def visit(graph):
        for node in graph.node:
            names.update(node.input)
            for attribute in node.attribute:
                for nested in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                    visit(nested)
    for node in model.graph.node:
        for attribute in node.attribute:
            for nested in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                visit(nested)
    return names


def with_references(nodes, rng):
    """Moves some attributes of the nodes of a function to its call; some of them are the function's defaults."""
    call, names, defaults = [], [], []
    for number, node in enumerate(nodes):
        for attribute in node.attribute:
            if attribute.type not in FLOAT_REFERENCES or rng.random() < 0.5:
                continue
            given = AttributeProto()
            given.CopyFrom(attribute)
            given.name = f"{attribute.name}_{number}"
            kind, name = attribute.type, attribute.name
            attribute.Clear()
            attribute.name, attribute.type, attribute.ref_attr_name = name, kind, given.name
            if rng.random() < 0.3:
                defaults.append(given)
            else:
                call.append(given)
                names.append(given.name)
    return call, names, defaults


def function_of(nodes, name, model, rng, outputs):
    """(function, call) of consecutive nodes. Formal names differ from the caller's."""
    made = {value for node in nodes for value in node.output if value}
    inputs = sorted(reads_of(nodes) - made)
    formals = {value: f"f{number}" for number, value in enumerate(sorted(reads_of(nodes) | made))}
    body = []
    for node in nodes:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.input[:] = [formals.get(value, "") for value in node.input]
        copy.output[:] = [formals.get(value, "") for value in node.output]
        body.append(copy)
    given, names, defaults = with_references(body, rng)
    domains = {node.domain for node in body} | {""}
    imports = [entry for entry in model.opset_import if entry.domain in domains]
    function = helper.make_function("form", name, [formals[value] for value in inputs], [formals[value] for value in outputs], body, imports,
                                    names, defaults)
    call = helper.make_node(name, inputs, outputs, name=f"call_{name}", domain="form")
    call.attribute.extend(given)
    return function, call


def as_functions(model, rng):
    """Groups of consecutive nodes become functions, some of them named like the operator that they hold, some within another."""
    captured = captured_names(model)
    nodes, result, functions = list(model.graph.node), [], []
    ends = {value.name for value in model.graph.output} | captured
    at = 0
    while at < len(nodes):
        count = int(rng.integers(1, 4))
        group = nodes[at:at + count]
        at += count
        if rng.random() < 0.4 or any(has_graph(node) or node.op_type == "Constant" for node in group):
            result.extend(group)
            continue
        later = reads_of(nodes[at:]) | ends
        outputs = [value for node in group for value in node.output if value and value in later]
        like = group[0].op_type  # with as many inputs: ONNX Runtime 1.32 ends by signal 6 on a function Mul of one input
        is_free = count == 1 and len(set(group[0].input)) == len(group[0].input) and not any(f.name == like for f in functions)
        name = like if is_free and rng.random() < 0.5 else f"fn{len(functions)}"
        if not outputs:
            result.extend(group)
            continue
        function, call = function_of(group, name, model, rng, outputs)
        functions.append(function)
        if rng.random() < 0.3:
            outer, call = function_of([call], f"outer{len(functions)}", model, rng, outputs)
            outer.opset_import.append(helper.make_opsetid("form", 1))
            functions.append(outer)
        result.append(call)
    if not functions:
        return False
    del model.graph.node[:]
    model.graph.node.extend(result)
    rng.shuffle(functions)
    model.functions.extend(functions)
    model.opset_import.append(helper.make_opsetid("form", 1))
    model.ir_version = max(model.ir_version, 9)
    return True


def unsorted(model, rng):
    nodes = list(model.graph.node)
    rng.shuffle(nodes)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return len(nodes) > 1


def stale_shapes(model, rng):
    changed = False
    for output in model.graph.output:
        if not output.type.HasField("tensor_type") or rng.random() < 0.3:
            continue
        shape = output.type.tensor_type.shape
        if shape.dim and rng.random() < 0.5:
            shape.dim[int(rng.integers(len(shape.dim)))].dim_value = 97
        else:
            del shape.dim[:]
        output.type.tensor_type.shape.SetInParent()
        changed = True
    return changed


def missing_shapes(model, rng):
    changed = False
    for output in model.graph.output:
        if output.type.HasField("tensor_type") and rng.random() < 0.7:
            output.type.tensor_type.ClearField("shape")
            changed = True
    return changed


def sparse_of(stored):
    array = numpy_helper.to_array(stored)
    flat = array.ravel()
    places = np.flatnonzero((flat != 0) | np.signbit(flat))
    return helper.make_sparse_tensor(numpy_helper.from_array(flat[places], stored.name), numpy_helper.from_array(places.astype(np.int64), stored.name + "_places"),
                                     list(array.shape))


def other_weights(model, rng):
    """Some float initializers become sparse, a Constant (also a sparse one), or are stored a second time before the true one."""
    inputs = {value.name for value in model.graph.input}
    kept, front, changed = [], [], False
    for stored in model.graph.initializer:
        form = int(rng.integers(6))
        if stored.data_type != onnx.TensorProto.FLOAT or not stored.dims or 0 in stored.dims or stored.name in inputs or form > 3:
            kept.append(stored)
            continue
        changed = True
        if form == 0:
            model.graph.sparse_initializer.append(sparse_of(stored))
        elif form == 1:
            front.append(helper.make_node("Constant", [], [stored.name], value=stored))
        elif form == 2 and model.opset_import[0].version >= 12:
            front.append(helper.make_node("Constant", [], [stored.name], sparse_value=sparse_of(stored)))
        else:
            other = numpy_helper.from_array(np.full(tuple(stored.dims), 7, np.float32), stored.name)
            kept.extend([stored, other] if other.ByteSize() >= 128 and len(other.raw_data) >= 128 else [other, stored])  # see import_graph.cpp
    kept = [onnx.TensorProto.FromString(one.SerializeToString()) for one in kept]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    nodes = front + list(model.graph.node)
    nodes = [onnx.NodeProto.FromString(one.SerializeToString()) for one in nodes]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return changed


FORMS = {"functions": as_functions, "unsorted": unsorted, "stale shapes": stale_shapes, "missing shapes": missing_shapes, "other weights": other_weights}


def other_form(model, seed):
    """(the model in another form, names of what was done)"""
    rng = np.random.default_rng([seed, 17])
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    done = [name for name, form in FORMS.items() if rng.random() < 0.5 and form(changed, rng)]
    return changed, done
