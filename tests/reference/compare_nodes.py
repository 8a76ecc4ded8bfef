# SPDX-License-Identifier: MIT
"""Compares everything that a recording of a small model holds: nodes, stored tensors, inputs, outputs."""
import numpy as np

from describe import is_pair_node, is_sorted

FLOAT_TOLERANCE = 1e-4  # relative; sums of stored tensors: times the number of elements


def differences(found, case, rtol=FLOAT_TOLERANCE):
    """Lines that say what differs between a description (describe_all()) and the recording; empty when nothing does."""
    stored = case.expected["stored"]
    if case.expected.get("without_pair_nodes"):
        nodes = [node for node in found["nodes"] if not is_pair_node(node)]
        lines = _node_differences(nodes, case.nodes(), case.expected.get("is_sorted", False), rtol)
    else:
        lines = _node_differences(found["nodes"], case.nodes(), is_sorted(case.nodes()), rtol)
        read = {name for node in case.nodes() for name in node[3]}
        stored = {name: tensor for name, tensor in stored.items() if name in read}  # the reference keeps unused ones
    lines += _stored_differences(found["stored"], stored, rtol)
    lines += [f"{key}: {found[key]} != {case.expected[key]}" for key in ("graph_inputs", "graph_outputs") if found[key] != case.expected[key]]
    return lines


def _same(a, b, rtol):
    if isinstance(b, str) and b in ("inf", "-inf", "nan") and isinstance(a, float):
        b = float(b)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return bool(np.isclose(a, b, rtol=rtol, atol=1e-12, equal_nan=True))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_same(x, y, rtol) for x, y in zip(a, b))
    return a == b


def _node_differences(found, wanted, in_order, rtol):
    """The reference leaves some models unsorted; ours are always sorted, so that the order is compared only where its is a valid one."""
    lines = []
    by_output = {tuple(node[4]): node for node in found}
    for want in wanted:
        got = by_output.pop(tuple(want[4]), None)
        if got is None:
            lines.append(f"node missing: {want}")
            continue
        for what, a, b in zip(("op", "domain", "name", "inputs"), got, want):
            if a != b:
                lines.append(f"node {want[0]} {want[4][0]}: {what} {a} != {b}")
        if set(got[5]) != set(want[5]) or not all(_same(got[5][key], value, rtol) for key, value in want[5].items()):
            lines.append(f"node {want[0]} {want[4][0]}: attributes {got[5]} != {want[5]}")
    lines += [f"node extra: {node}" for node in by_output.values()]
    if not lines and in_order and [node[4] for node in found] != [node[4] for node in wanted]:
        lines.append("node order: " + " ".join(node[2] for node in found))
    return lines


def _stored_differences(found, wanted, rtol):
    lines = [f"stored missing: {name}" for name in wanted if name not in found]
    lines += [f"stored extra: {name}" for name in found if name not in wanted]
    for name in wanted:
        if name in found and not _same_stored(found[name], wanted[name], rtol):
            lines.append(f"stored {name}: {found[name]} != {wanted[name]}")
    return lines


def _same_stored(a, b, rtol):
    if a[:2] != b[:2] or len(a) != len(b):
        return False
    if len(b) == 3 and b[0] == "INT32":  # scales agree to 1e-4 only, so a bias may lie on the other side of a tie
        return all(abs(x - y) <= max(1, rtol * abs(y)) for x, y in zip(a[2], b[2]))
    if len(b) == 3:
        return _same(a[2], b[2], rtol)
    magnitude = max(abs(b[2]), abs(b[3]))
    return _same(a[2:4], b[2:4], rtol) and abs(a[4] - b[4]) <= rtol * magnitude * max(1, int(np.prod(b[1]))) * 0.01 + 1e-9
