#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Comments, messages and documents are plain English: phrases that had to be read twice are named, each with its replacement.

Four counts, each with its own line in ratchet.txt: comments of headers and tables, messages (string literals), documents,
comments of sources. A pattern that is wrong more often than right is not listed here."""
import os
import re
import sys

import ratchet
import sources

HEADLESS = [
    (r"^what\b", 'a comment that begins with "what"; write a sentence with a verb ("Returns ...") or name the thing'),
    (r"^of\b", 'a comment that begins with "of"; name the thing ("Name of ...")'),
    (r"^by\b(?! default)", 'a comment that begins with "by"; write "Keyed by ..." or a sentence'),
    (r"^as\b(?! (?:soon|long|far) as)", 'a comment that begins with "as"; write a sentence'),
    (r"^from\b", 'a comment that begins with "from"; write a sentence'),
    (r"^the same\b(?! \w+ (?:is|are|has|have|must|can|may)\b)", 'a comment that begins with "the same"; say what is returned or stored'),
    (r"^nothing\b", 'a comment that begins with "nothing"; write "Returns nullopt if ..."'),
    (r"^null (?:when|if|where|for|without)\b", 'a comment that begins with "null"; write "Returns null if ..."'),
    (r"^those\b", 'a comment that begins with "those"; repeat the noun'),
]
PHRASES = [
    (r"(?<!there )\b(?:is|are|was|were) no\b(?! (?:longer|more|less|greater|larger|smaller|later|worse|better)\b)", '"is no X"; negate the verb: "is not an X"'),
    (r"\bnone (?:that|which)\b", '"none that"; write "if neither" or "not one of"'),
    (r"\b(?:lies?|lay|lying)\b", '"lies" for "is", "is stored"'),
    (r"\b(?:stands?|stood)\b(?! for\b|-|alone)", '"stands" for "is", "is listed"'),
    (r"\bbeside\b", '"beside" for "next to", "in addition to"'),
    (r"\b(?:hears?|heard)\b", '"hear" for "is notified", "receives"'),
    (r"\bgoes\b", '"goes"; write "is passed", "is written", "is processed"'),
    (r"\bbehind\b(?! the scenes)", '"behind"; write "after", "following"'),
    (r"\banew\b", '"anew"; write "again"'),
    (r"\baside\b", '"aside"; write "except for", "up to"'),
    (r"\bas [\w :+`'-]{1,40}\b(?:has|have|wants?|does|do) it\b", '"as X has it"; write "X semantics"'),
    (r"\bin (?:the )?place of\b", '"in place of"; write "instead of"'),
    (r"\bthose of\b", '"those of"; repeat the noun'),
    (r"\bthe ones? (?:that|which)\b", '"the one that"; repeat the noun'),
    (r"\bask(?:s|ed|ing)?\b", '"ask"; write "requests", "requires"'),
    (r"\b(?:says?|said)\b", '"say"; write "specifies", "states"'),
    (r"\bholds? (?:an?|the|its|their|one|all|only|no|other|values?|nodes?|what)\b", '"hold" for "contain", "store"'),
    (r"\b(?:makes?|becomes?|came) of\b", '"what X makes of Y"; name the result'),
    (r"\bnobody\b", '"nobody"; write a passive sentence'),
]
LITERAL = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|//[^\n]*|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'|((?:"(?:\\.|[^"\\\n])*"\s*)+)')
PIECE = re.compile(r'"((?:\\.|[^"\\\n])*)"')
TRAILING = re.compile(r'^((?:"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|[^"\'/]|/(?!/)|\')*?)//[/!]?<? ?(.*)$')
HISTORIES = ("docs/adr/", "docs/reference/")
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")


def compiled(patterns):
    return [(re.compile(pattern, re.IGNORECASE), text) for pattern, text in patterns]


PATTERNS = compiled(PHRASES)
COMMENT_PATTERNS = compiled(HEADLESS) + PATTERNS


def without_quotes(text):
    """`code` and "quotations" are names and texts of others."""
    return re.sub(r'`[^`]*`|"[^"]*"', "X", text)


def comment_blocks(lines):
    """(line number, text) of each comment: consecutive comment lines of one column are one comment."""
    blocks, column, last = [], None, 0
    for number, line in enumerate(lines, 1):
        match = TRAILING.match(line) if "//" in line else None
        if not match or "SPDX" in line or "NOLINT" in line or "#include" in line or re.match(r" ?namespace\b", match.group(2)):
            column = None
            continue
        if not match.group(1).strip() and column == len(match.group(1)) and last == number - 1:
            blocks[-1][1] += " " + match.group(2)
        else:
            blocks.append([number, match.group(2)])
        column, last = len(match.group(1)), number
    return blocks


def messages(lines):
    """(line number, text) of the string literals of three words and more; literals that follow each other are one."""
    text = "\n".join(lines)
    for match in LITERAL.finditer(text):
        joined = "".join(PIECE.findall(match.group(2) or "")).replace('\\"', '"')
        if len(re.findall(r"[A-Za-z]{2,}", joined)) >= 3:
            yield text.count("\n", 0, match.start()) + 1, joined


def paragraphs(lines):
    """(line number, text) of the paragraphs, list items and rows of a document; blocks of code are left out."""
    found, is_code, is_open = [], False, False
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if stripped.startswith("```"):
            is_code = not is_code
        if is_code or not stripped or stripped.startswith("```"):
            is_open = False
        elif is_open and not re.match(r"[-*|#>]|\d+\.", stripped):
            found[-1][1] += " " + stripped
        else:
            found.append([number, stripped])
            is_open = not stripped.startswith(("|", "#"))
    return found


def findings_of(path, texts, patterns):
    return [f"{path}:{number}: {what}" for number, text in texts for pattern, what in patterns if pattern.search(without_quotes(text))]


def is_header(path):
    return path.endswith((".h", ".def"))


def check_comments(root, headers):
    findings = []
    for path in sources.files_below(root, "include", "src", "tools"):
        if path.endswith((".h", ".def", ".cpp")) and is_header(path) == headers:
            findings += findings_of(path, comment_blocks(sources.read_lines(root, path)), COMMENT_PATTERNS)
    return findings


def check_headers(root):
    return check_comments(root, headers=True)


def check_sources(root):
    return check_comments(root, headers=False)


def check_messages(root):
    findings = []
    for path in sources.files_below(root, "include", "src", "tools"):
        if path.endswith(sources.CODE_SUFFIXES):
            findings += findings_of(path, messages(sources.read_lines(root, path)), PATTERNS)
    return findings


def check_documents(root):
    paths = [path for path in sources.files_below(root, "docs") if path.endswith(".md") and not path.startswith(HISTORIES)]
    paths += [path for path in sources.files_below(root, "src") if os.path.basename(path) == "README.md"]
    findings = []
    for path in paths + [path for path in DOCUMENTS if os.path.isfile(os.path.join(root, path))]:
        findings += findings_of(path, paragraphs(sources.read_lines(root, path)), PATTERNS)
    return findings


GOOD_HEADER = """// SPDX-License-Identifier: MIT
// quantize(): float ONNX model in, quantized ONNX model out.
/// Returns the only reader of `value`, or an invalid id if there is no reader.
/// The scale is no longer than one step; "what was asked for" and `lies` are quotations.
int a;      ///< Name of the model's input.
            ///< of two words: a line that continues the comment above it
int b;      ///< By default 0.
const char* c = "// what lies here";
"""
GOOD_DOCUMENT = "# Take\n\nThe `beside` option is read first.\n\n```\nwhat lies beside it\n```\n"
BAD_COMMENTS = ["/// What a pass says.", "/// Of the model's input.", "int a;  ///< of `data`: elements", "/// As in C.", "/// The same for bytes.", "/// Null when absent.",
                "/// Nothing when it repeats.", "/// By name.", "/// Returns the value that is no output.", "/// Known beside the\n/// others.", "/// Shifts, as C has it.",
                "/// Replaces it in the\n/// place of the node.", "/// The node which goes first.", "/// Holds the nodes.", "// The samples that nobody wants."]
BAD_MESSAGES = ['f("the value lies outside");', 'f("the value is "\n  "no number");', 'f("a setting asks for more");']
BAD_DOCUMENTS = ["The file stands\nbeside it.\n", "- in place\n  of the model\n", "| a | it lies here |\n"]


def main():
    ok = sources.self_test("english_headers", check_headers, {"src/a.h": GOOD_HEADER},
                           [("src/b.h:1", {"src/b.h": text + "\n"}) for text in BAD_COMMENTS])
    ok &= sources.self_test("english_sources", check_sources, {"src/a.cpp": GOOD_HEADER, "src/a.h": "// What a header says.\n"},
                            [("src/b.cpp:1", {"src/b.cpp": text + "\n"}) for text in BAD_COMMENTS])
    ok &= sources.self_test("english_messages", check_messages, {"src/a.cpp": 'f("says"); // "what lies here now"\nf("there is no \'such\' file");\n'},
                            [("src/b.cpp:1", {"src/b.cpp": text + "\n"}) for text in BAD_MESSAGES])
    ok &= sources.self_test("english_documents", check_documents, {"docs/a.md": GOOD_DOCUMENT, "docs/adr/1.md": "What lies beside.\n"},
                            [("docs/b.md:1", {"docs/b.md": text}) for text in BAD_DOCUMENTS])
    for name, check in (("headers", check_headers), ("messages", check_messages), ("documents", check_documents), ("sources", check_sources)):
        ok &= ratchet.report("english_" + name, check(sources.ROOT))
    return ok


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
