#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fetches one file of a Python package and checks its SHA-256: fetch_archive.py PACKAGE FILE SHA256 DESTINATION

The file is downloaded as it is. `pip download` would run the build backend of a source archive, and install what that asks for, before
anybody has looked at a hash. Places are those that pip is configured for: index-url, extra-index-url, find-links, no-index and cert, from its
files or from PIP_* variables. A file with another hash is refused and removed. Does nothing when the right file is at DESTINATION already."""
import ast
import base64
import hashlib
import html.parser
import importlib
import json
import os
import ssl
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

MOST_BYTES = 64 << 20
PAGES = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"


def default_index():
    """The index that pip uses without configuration."""
    return importlib.import_module("pip._internal.models.index").PyPI.simple_url


def pip_settings():
    """{name: value} as `pip download` would see them: variables win over files, the command's own section over the global one."""
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False).stdout
    found = {}
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.rpartition(".")
        rank = ("global", "download", ":env:").index(section) if section in ("global", "download", ":env:") else -1
        if rank >= found.get(name, (-1, ""))[0] and rank >= 0:
            found[name] = (rank, str(ast.literal_eval(value)))
    settings = {name: value for name, (_, value) in found.items()}
    for name in ("index-url", "extra-index-url", "find-links", "no-index", "cert"):  # where pip is not installed
        variable = os.environ.get("PIP_" + name.upper().replace("-", "_"))
        if variable is not None:
            settings[name] = variable
    return settings


class Links(html.parser.HTMLParser):
    """The addresses on a page of an index."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self.found += [value for name, value in attrs if name == "href" and value]


def open_address(address, cert, accept="*/*"):
    """A response; names and passwords in the address are sent as pip sends them."""
    parts = urllib.parse.urlsplit(address)
    request = urllib.request.Request(urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])), headers={"Accept": accept})
    if parts.username:
        words = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        request.add_header("Authorization", "Basic " + base64.b64encode(words.encode()).decode())
    context = ssl.create_default_context(cafile=cert) if parts.scheme == "https" else None
    return urllib.request.urlopen(request, context=context, timeout=180)


def links_of(page, cert):
    """Addresses that a page or an index names, absolute."""
    with open_address(page, cert, PAGES) as response:
        base, text = response.geturl(), response.read(MOST_BYTES).decode("utf-8", "replace")
        if "json" in response.headers.get("Content-Type", ""):
            found = [entry["url"] for entry in json.loads(text).get("files", [])]
        else:
            parser = Links()
            parser.feed(text)
            found = parser.found
    login = urllib.parse.urlsplit(page).netloc.rpartition("@")[0]
    for link in found:
        parts = urllib.parse.urlsplit(urllib.parse.urljoin(base, link))
        same_host = login and parts.hostname == urllib.parse.urlsplit(page).hostname
        yield urllib.parse.urlunsplit(parts._replace(netloc=f"{login}@{parts.netloc}") if same_host else parts)


def places_of(package, file, settings):
    """Addresses where the file may be, in the order in which they are tried."""
    for place in settings.get("find-links", "").split():
        if os.path.isfile(os.path.join(place, file)):
            yield "file://" + urllib.parse.quote(os.path.abspath(os.path.join(place, file)))
        elif "://" in place:
            yield from links_of(place, settings.get("cert"))
    if settings.get("no-index", "") not in ("", "0", "false", "False", "no"):
        return
    for index in [settings.get("index-url") or default_index(), *settings.get("extra-index-url", "").split()]:
        yield from links_of(f"{index.rstrip('/')}/{package}/", settings.get("cert"))


def is_right(path, sha256):
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest() == sha256


def fetch(address, cert, sha256, destination):
    """Whether the file at `address` has the hash; only then it gets its name."""
    with open_address(address, cert) as response, tempfile.NamedTemporaryFile(dir=os.path.dirname(destination) or ".", delete=False) as file:
        file.write(response.read(MOST_BYTES))
    if is_right(file.name, sha256):
        os.chmod(file.name, 0o644)
        os.replace(file.name, destination)
        return True
    os.remove(file.name)
    return False


def main():
    package, file, sha256, destination = sys.argv[1:]
    if is_right(destination, sha256):
        return
    settings = pip_settings()
    refused = False
    for address in places_of(package, file, settings):
        if urllib.parse.unquote(urllib.parse.urlsplit(address).path.rpartition("/")[2]) != file:
            continue
        if fetch(address, settings.get("cert"), sha256, destination):
            return
        refused = True
    sys.exit(f"fetch_archive.py: {file} has another SHA-256 than {sha256}; it was not unpacked" if refused
             else f"fetch_archive.py: {file} was not found where pip looks for {package}")


if __name__ == "__main__":
    main()
