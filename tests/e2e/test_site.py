# SPDX-License-Identifier: MIT
"""docs/ builds as a site: links and anchors resolve, and every page is in the navigation of mkdocs.yml."""
import os
import re
import subprocess
import sys

from harness import ROOT, expect_equal, temp_folder, test

SETTINGS = os.path.join(ROOT, "mkdocs.yml")


def build(settings, site):
    return subprocess.run([sys.executable, "-m", "mkdocs", "build", "--config-file", settings, "--site-dir", site], capture_output=True, text=True,
                          env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=False)


@test()
def the_site_builds():
    with temp_folder() as site:
        result = build(SETTINGS, site)
        expect_equal(result.returncode, 0, f"exit code of mkdocs\n{result.stderr[-3000:]}\n")
        pages = sum(name == "index.html" for _, _, names in os.walk(site) for name in names)
    return f"{pages} pages"


# What stands in the only page of the navigation, and whether that is fine; None is a second page beside it.
PAGES = {"good page": ("[here](index.md#a)", True), "broken link": ("[gone](gone.md)", False), "broken anchor": ("[here](index.md#gone)", False),
         "page outside the navigation": (None, False)}


@test(cases=sorted(PAGES))
def faults_are_found(case):
    text, is_fine = PAGES[case]
    with open(SETTINGS) as file:
        settings = re.sub(r"(?s)^nav:\n.*", "nav: [index.md]\n", file.read(), flags=re.M)
    with temp_folder() as folder:
        os.mkdir(os.path.join(folder, "docs"))
        pages = {"mkdocs.yml": settings, "docs/index.md": f"# A\n{text or ''}\n"}
        if text is None:
            pages["docs/other.md"] = "# B\n"
        for name, text in pages.items():
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        result = build(os.path.join(folder, "mkdocs.yml"), os.path.join(folder, "site"))
        expect_equal(result.returncode == 0, is_fine, f"success of mkdocs\n{result.stderr[-1000:]}\n")
