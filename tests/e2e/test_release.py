# SPDX-License-Identifier: MIT
"""The scripts of a release: a tag that does not fit the tree and files that are missing or damaged are found."""
import os
import re
import shutil
import subprocess

from harness import ROOT, expect, expect_equal, temp_folder, test

SCRIPTS = os.path.join(ROOT, "scripts")


def version():
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"project\(quarkq VERSION ([0-9.]+)", file.read()).group(1)


def script(name, *arguments):
    return subprocess.run([os.path.join(SCRIPTS, name), *arguments], capture_output=True, text=True, check=False)


def tree_with(folder, changelog):
    """A tree with the parts that check_release.sh reads."""
    os.makedirs(os.path.join(folder, "scripts"))
    for name in ("CMakeLists.txt", os.path.join("scripts", "check_release.sh")):
        shutil.copy(os.path.join(ROOT, name), os.path.join(folder, name))
    with open(os.path.join(folder, "CHANGELOG.md"), "w", encoding="utf-8") as file:
        file.write(changelog)
    return os.path.join(folder, "scripts", "check_release.sh")


@test(cases=["fits", "other tag", "no section", "long section", "long section of another version"])
def a_tag_fits_the_tree(case):
    now = version()
    section, line = f"## {now} (today)\n", "- A change.\n\n"
    texts = {"no section": "## 0.0.1\n" + 9 * line, "long section": section + 40 * line, "long section of another version": section + 39 * line + "## 0.0.1\n" + 99 * line}
    with temp_folder() as folder:
        check = tree_with(folder, "# Changelog\n\n" + texts.get(case, section + line))
        done = subprocess.run([check, "v9.9.9" if case == "other tag" else f"v{now}"], capture_output=True, text=True, check=False)
        expect_equal(done.returncode == 0, case in ("fits", "long section of another version"), f"{case}: {done.stdout}{done.stderr}")


@test()
def missing_and_damaged_files_are_found():
    with temp_folder() as folder:
        with open(os.path.join(folder, "quarkq.cdx.json"), "w", encoding="utf-8") as file:
            file.write('{"bomFormat": "other", "components": []}')
        with open(os.path.join(folder, f"quarkq-{version()}.tar.gz"), "wb") as file:
            file.write(b"no archive")
        with open(os.path.join(folder, "SHA256SUMS"), "w", encoding="utf-8") as file:
            file.write(f"{'0' * 64}  quarkq.cdx.json\n")
        done = script("try_release.sh", folder)
        expect_equal(done.returncode, 1, done.stdout)
        found = dict(re.findall(r"^(?:FAIL|ok|skip) release\.([\w-]+): ?(.*)", done.stdout, re.M))
        failed = re.findall(r"^FAIL release\.([\w-]+)", done.stdout, re.M)
        expect_equal(sorted(failed), sorted(["sums", "wheel", "as-quark", "sdist", "deb", "archive", "sbom"]), done.stdout)
        expect("found 0 files" in found["wheel"] and "found 0 files" in found["deb"], done.stdout)


@test()
def usage_is_told():
    for name in ("try_release.sh", "check_release.sh"):
        expect_equal(script(name).returncode, 2, name)
    expect_equal(script("release_dry_run.sh", "--upload").returncode, 2, "release_dry_run.sh")
