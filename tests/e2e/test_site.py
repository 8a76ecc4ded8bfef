# SPDX-License-Identifier: MIT
"""docs/ builds as a site: links and anchors resolve, and every page is in the navigation of mkdocs.yml."""
import functools
import http.server
import json
import os
import re
import subprocess
import sys
import threading

from browser import browse, browser
from harness import ROOT, expect, expect_equal, temp_folder, test

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
        for page in ("recipes", "recipes/digits", "results", "tune"):
            expect(os.path.isfile(os.path.join(site, page, "index.html")), f"no page {page}")
        with open(os.path.join(site, "index.html"), encoding="utf-8") as file:
            start = file.read()
        expect('href="recipes/digits/"' in start and 'href="results/"' in start, "recipes and results are not in the navigation")
        with open(os.path.join(site, "search", "search_index.json"), encoding="utf-8") as file:
            expect("recipes/run.py digits" in file.read(), "the search does not find recipes")
    return f"{pages} pages"


# What stands in the only page of the navigation, and whether that is fine; None is a second page beside it.
PAGES = {"good page": ("[here](index.md#a)", True), "broken link": ("[gone](gone.md)", False), "broken anchor": ("[here](index.md#gone)", False),
         "page outside the navigation": (None, False)}


@test(cases=sorted(PAGES))
def faults_are_found(case):
    text, is_fine = PAGES[case]
    with open(SETTINGS) as file:
        settings = re.sub(r"^hooks:.*\n", "", file.read(), flags=re.M)
        settings = re.sub(r"(?s)^nav:\n.*", "nav: [index.md]\n", settings, flags=re.M)
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


def git(folder, *arguments):
    return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@localhost", "-C", folder, *arguments], capture_output=True, text=True, check=True).stdout


@test()
def versions_are_deployed_next_to_each_other():
    with temp_folder() as folder:
        origin, clone, site = (os.path.join(folder, name) for name in ("origin.git", "clone", "site"))
        git(folder, "init", "--quiet", "--bare", origin)
        git(folder, "clone", "--quiet", origin, clone)
        git(clone, "commit", "--quiet", "--allow-empty", "--message", "start")
        os.mkdir(site)
        for version, text in (("dev", "d1"), ("v0.2.0", "two"), ("v0.1.1", "one"), ("v0.10.0", "ten"), ("dev", "d2"), ("dev", "d2")):
            with open(os.path.join(site, "index.html"), "w", encoding="utf-8") as file:
                file.write(text)
            subprocess.run([os.path.join(ROOT, "scripts", "deploy_site.sh"), site, version], cwd=clone, check=True, capture_output=True, text=True)
        pages = {name: git(origin, "show", f"gh-pages:{name}/index.html") for name in ("dev", "0.1.1", "0.2.0", "0.10.0", "latest")}
        expect_equal(pages, {"dev": "d2", "0.1.1": "one", "0.2.0": "two", "0.10.0": "ten", "latest": "ten"}, "pages")
        rows = json.loads(git(origin, "show", "gh-pages:versions.json"))
        expect_equal([(row["version"], row["aliases"]) for row in rows], [("0.10.0", ["latest"]), ("0.2.0", []), ("0.1.1", []), ("dev", [])], "versions.json")
        expect("url=latest/" in git(origin, "show", "gh-pages:index.html"), "the start leads elsewhere")
        expect_equal(git(origin, "rev-list", "--count", "gh-pages").strip(), "5", "deployments; the same pages again are none")


@test(cases=["none dev", "site 1", "site"])
def wrong_versions_are_refused(arguments):
    with temp_folder() as folder:
        os.mkdir(os.path.join(folder, "site"))
        result = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "add_site_version.py"), *arguments.split()], cwd=folder, capture_output=True, text=True, check=False)
        expect_equal((result.returncode, os.listdir(folder)), (1, ["site"]), result.stderr)


# Opens pages in frames of one width, and writes what each shows into the title.
PROBE = """<body><script>
const found = [], pages = %s;
const show = (page) => new Promise(done => {
  const frame = document.createElement("iframe");
  frame.style = "width:%dpx;height:900px;border:0";
  frame.onload = () => setTimeout(() => {
    const d = frame.contentDocument, root = d.documentElement, pictures = [...d.images];
    found.push({page, wide: root.scrollWidth, room: root.clientWidth, tables: d.querySelectorAll("article table").length,
                pictures: pictures.length, broken: pictures.filter(one => !one.naturalWidth).map(one => one.src), heading: d.querySelector("h1").innerText});
    frame.remove();
    done();
  }, 500);
  frame.src = page;
  document.body.append(frame);
});
(async () => { for (const page of pages) await show(page); document.title = JSON.stringify(found); })();
</script>"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@test(cases=["390", "1200"])
def pages_open_in_a_browser(width):
    browser()
    pages = ["index.html", "results/index.html", "recipes/index.html", "recipes/digits/index.html", "targets/index.html", "options/index.html"]
    with temp_folder() as site:
        expect_equal(build(SETTINGS, site).returncode, 0, "exit code of mkdocs")
        with open(os.path.join(site, "probe.html"), "w", encoding="utf-8") as file:
            file.write(PROBE % (json.dumps(pages), int(width)))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            seen = re.search(r"<title>(\[.*?\])</title>", browse("--virtual-time-budget=60000", "--dump-dom", f"http://127.0.0.1:{server.server_port}/probe.html"))
            server.shutdown()
    expect(seen, "the browser did not run the probe")
    found = {one["page"]: one for one in json.loads(seen[1].replace("&amp;", "&"))}
    expect_equal(sorted(found), sorted(pages), "pages that opened")
    for page, one in found.items():
        expect(one["wide"] <= one["room"] and one["heading"], f"{page} in {width} pixels: {one}")
        expect_equal(one["broken"], [], f"pictures of {page} that do not load")
    expect(found["results/index.html"]["pictures"] >= 1 and found["results/index.html"]["tables"] >= 16, f"results: {found['results/index.html']}")
    return f"{len(found)} pages"
