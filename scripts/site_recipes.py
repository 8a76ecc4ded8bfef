# SPDX-License-Identifier: MIT
"""A hook of mkdocs (mkdocs.yml): the pages of recipes/ become pages of the site, in its navigation under "Recipes"."""
import os

from mkdocs.structure.files import File

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def recipe_pages():
    """{address in the site: path}, the page about all recipes first."""
    folder = os.path.join(ROOT, "recipes")
    names = sorted(name for name in os.listdir(folder) if not name.startswith("_") and os.path.isfile(os.path.join(folder, name, "README.md")))
    return {"recipes/index.md": os.path.join(folder, "README.md"), **{f"recipes/{name}.md": os.path.join(folder, name, "README.md") for name in names}}


def on_config(config):
    config.nav.insert(-3, {"Recipes": [*recipe_pages()]})
    return config


def on_files(files, config):
    for address, path in recipe_pages().items():
        files.append(File.generated(config, address, abs_src_path=path))
    return files
