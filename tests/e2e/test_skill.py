# SPDX-License-Identifier: MIT
"""quarkq skill install writes the page for coding assistants, whole or not at all, and never over changes of the user."""
import os

from harness import ROOT, expect, expect_equal, expect_error, quarkq, read_bytes, run, temp_folder, test

PATHS = {"claude": ".claude/skills/quarkq/SKILL.md", "codex": ".agents/skills/quarkq/SKILL.md", "cursor": ".cursor/skills/quarkq/SKILL.md"}
SOURCE = os.path.join(ROOT, "skills", "quarkq", "SKILL.md")


def files_in(folder):
    return sorted(os.path.relpath(os.path.join(place, name), folder) for place, _, names in os.walk(folder) for name in names)


@test(cases=sorted(PATHS))
def the_page_is_where_the_assistant_looks(agent):
    with temp_folder() as folder:
        said = quarkq("skill", "install", agent, "--folder", folder).stdout
        expect_equal(files_in(folder), [PATHS[agent]], "files")
        expect(PATHS[agent] in said, said)
        text, source = read_bytes(os.path.join(folder, PATHS[agent])).decode(), read_bytes(SOURCE).decode()
        expect(text.startswith(source) and text.startswith("---\nname: quarkq\ndescription: "), "the page is not that of the repository")
        expect_equal(text[len(source):].count("\n"), 1, "lines after the page")


@test()
def without_a_name_the_folders_of_the_project_tell():
    with temp_folder() as folder:
        expect_error(run("skill", "install", "--folder", folder), 2, "name the assistant: claude, codex, cursor")
        for name in (".claude", ".cursor"):
            os.mkdir(os.path.join(folder, name))
        quarkq("skill", "install", "--folder", folder)
        expect_equal(files_in(folder), sorted([PATHS["claude"], PATHS["cursor"]]), "files")


@test()
def changes_of_the_user_are_kept():
    with temp_folder() as folder:
        path = os.path.join(folder, PATHS["claude"])
        quarkq("skill", "install", "claude", "--folder", folder)
        page = read_bytes(path)
        quarkq("skill", "install", "claude", "--folder", folder)
        expect_equal(read_bytes(path), page, "the page, installed again")
        changed = page.replace(b"quarkq in one page", b"our notes")
        for text in (changed, b"my own page\n", b"", page[:-60]):
            with open(path, "wb") as file:
                file.write(text)
            expect_error(run("skill", "install", "claude", "cursor", "--folder", folder), 2, "pass --force to replace it")
            expect_equal((read_bytes(path), files_in(folder)), (text, [PATHS["claude"]]), "files after a refusal")
        quarkq("skill", "install", "claude", "--folder", folder, "--force")
        expect_equal(read_bytes(path), page, "the page with --force")


@test()
def a_page_of_another_version_is_replaced():
    """A page without changes is one that its own last line vouches for, whatever the version."""
    with temp_folder() as folder:
        path = os.path.join(folder, PATHS["codex"])
        quarkq("skill", "install", "codex", "--folder", folder)
        page = read_bytes(path)
        with open(path, "wb") as file:
            file.write(page.replace(b"written by quarkq 0.", b"written by quarkq 9."))
        quarkq("skill", "install", "codex", "--folder", folder)
        expect_equal(read_bytes(path), page, "the page of this version")


@test()
def wrong_usage_is_refused():
    with temp_folder() as folder:
        expect_error(run("skill", "install", "claud", "--folder", folder), 2, "did you mean claude")
        expect_error(run("skill", "install", "claude", "--folder", os.path.join(folder, "none")), 2, "no such folder")
        expect_equal(run("skill").returncode, 2, "without an action")
        os.mkdir(os.path.join(folder, ".claude"))
        os.chmod(os.path.join(folder, ".claude"), 0o500)
        if os.geteuid() != 0:
            expect_equal(run("skill", "install", "claude", "cursor", "--folder", folder).returncode, 1, "a folder that cannot be written")
        expect_equal(files_in(folder), [], "files")


@test()
def a_failure_leaves_no_folders_and_quiet_prints_nothing():
    with temp_folder() as folder:
        os.mkdir(os.path.join(folder, ".cursor"))
        with open(os.path.join(folder, ".cursor", "skills"), "wb"):
            pass
        expect_error(run("skill", "install", "claude", "cursor", "--folder", folder), 1, "cannot make this folder")
        expect_equal(os.listdir(folder), [".cursor"], "what a failure leaves")
        expect_equal(quarkq("-q", "skill", "install", "claude", "--folder", folder).stdout, "", "stdout with -q")
        expect_equal(files_in(folder), [".claude/skills/quarkq/SKILL.md", ".cursor/skills"], "files")


@test()
def the_page_names_what_the_program_has():
    """Verbs and options that the page mentions exist."""
    with open(SOURCE, encoding="utf-8") as file:
        text = file.read()
    pages = quarkq("man").stdout.replace("\\-", "-")
    for word in {word.strip("`.,;:()'") for word in text.split() if word.strip("`.,;:()'").startswith("--")}:
        expect(word in pages or word in ("---", "--help"), f"{word} is no option")
