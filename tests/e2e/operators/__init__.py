# SPDX-License-Identifier: MIT
"""How to draw a valid call of every operator: RECIPES holds, for each operator by name, the functions that add it to a random graph.

A recipe takes a TypedBuilder and the name of the operator. It draws shapes, element types and attributes of the builder's opset.
"""
RECIPES = {}  # name ("domain:name" outside of ai.onnx) -> [(first opset, recipe)]
NEWEST = {}  # name -> the newest opset that has it, of operators that were replaced


def recipe(*names, since=7, until=None, domain=""):
    """Registers a function for each of these operators, from this opset on (7 is the oldest that is drawn), and up to `until`."""
    def register(function):
        for name in names:
            RECIPES.setdefault(f"{domain}:{name}" if domain else name, []).append((since, function))
            if until:
                NEWEST[name] = until
        return function
    return register


def load_all():
    """Imports the files with recipes, which fill RECIPES."""
    from operators import control, elementwise, image, indices, matrix, norm, quantized, reduce, shapes, signal  # noqa: F401
    return RECIPES
