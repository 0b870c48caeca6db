#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The rules that every text file of the tree obeys. Each rule takes (path, text) and yields (line, problem).

The table of include arrows is DESIGN section 3's. A rule is pure, so that test_rules.py can show that it fails."""
import re

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 100
COLUMNS_MAX = 120

# Folder -> folders (or single headers) that it may include. Longest prefix wins; a folder may include itself.
ARROWS = {
    "txn": [],
    "offload": ["txn"],
    "dataplane": ["txn", "offload"],
    "host/store": ["txn", "offload/back.h"],
    "host/log": ["txn", "offload/back.h"],
    "host/back": ["txn", "offload", "host/store", "host/log"],
    "host/control": ["txn"],
    "host/client": ["txn"],
    "host/apps": ["txn", "offload", "dataplane", "host", "configs"],
    "pktgen": ["txn", "dataplane", "host/client", "host/control"],
    "tests": ["txn", "offload", "dataplane", "host", "pktgen"],
}

# Outside headers and the folders that may touch them. What is in no row (std, libc, POSIX) anyone but txn may use.
OUTSIDE = [
    ("DPDK", re.compile(r"^(rte_|cmdline)"), ["dataplane", "host/apps", "pktgen/apps", "tests"]),
    ("TBB", re.compile(r"^(oneapi/)?tbb/"), ["host/log", "host/store", "tests"]),
    ("ISA-L", re.compile(r"^(isa-l\.h|isa-l/.*|crc\.h|isal.*)$"), ["host/log", "tests"]),
    ("liburing", re.compile(r"^(liburing|linux/io_uring)"), ["host/log", "tests"]),
    ("Protobuf", re.compile(r"^google/protobuf|\.pb\.h$"), ["host/control", "host/apps", "pktgen", "tests"]),
    ("kernel sockets", re.compile(r"^(sys/socket|netinet/|arpa/inet|netdb|sys/un)"),
     ["host/client", "host/apps", "dataplane", "pktgen", "tests"]),
    ("GoogleTest", re.compile(r"^(gtest|gmock|rapidcheck)"), ["tests"]),
]

# What the pure core may include: the C++ library without clocks, files, threads, random numbers and streams.
PURE_FOLDERS = ("txn", "offload")
PURE_FORBIDDEN = re.compile(
    r"^(chrono|ctime|time\.h|random|thread|mutex|shared_mutex|condition_variable|future|atomic|fstream|iostream|"
    r"filesystem|cstdio|stdio\.h|unistd\.h|sys/.*|pthread\.h|fcntl\.h|netinet/.*|arpa/.*|linux/.*)$")

SOURCE = (".cc", ".h", ".c", ".proto", ".py", ".build", ".textproto", ".sh", ".lua")
CODE = (".cc", ".h", ".c")
TEXT = SOURCE + (".md", ".txt", ".service", ".html")
SCRIPTS = ("txnic", ".ci/run", "meson_options.txt", ".clang-format", ".clang-tidy", ".gitignore")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Built from pieces, so that this file does not break its own rules.
MARKERS = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK", "W" + "IP"]) + r")\b")
MACHINE_PATHS = re.compile(r"(?<![\w.<-])/(" + "|".join(["work", "root", "farm", "home"]) + r")/")
HOSTS = re.compile(
    r"\b(" + "|".join(["deb" + r"\.debian\.org", "pypi" + r"\.org", "registry" + r"\.npmjs", "npmjs" + r"\.(org|com)",
                       "crates" + r"\.io", "proxy" + r"\.golang", "files" + r"\.pythonhosted",
                       "archive" + r"\.ubuntu", "docker" + r"\.io", "ghcr" + r"\.io"]) + r")")


def is_text(path):
    return path.endswith(TEXT) or path in SCRIPTS


def owner(path):
    """The folder of ARROWS that a path belongs to, or None."""
    folders = [folder for folder in ARROWS if path == folder or path.startswith(folder + "/")]
    return max(folders, key=len) if folders else None


def within(path, allowed):
    return any(path == entry or path.startswith(entry + "/") for entry in allowed)


def check_spdx(path, text):
    if not (path.endswith(SOURCE) or path in SCRIPTS[:3]):
        return
    head = text.splitlines()[:3]
    if not any("SPDX-License-Identifier: BSD-3-Clause" in line for line in head):
        yield 1, "no line 'SPDX-License-Identifier: BSD-3-Clause' among the first three"


def check_length(path, text):
    lines = text.count("\n")
    if path.endswith(SOURCE) and lines > FILE_LINES_MAX:
        yield lines, f"{lines} lines; a file has at most {FILE_LINES_MAX}"


def check_lines(path, text):
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > COLUMNS_MAX and not path.endswith(".md"):
            yield number, f"{len(line)} columns; a line has at most {COLUMNS_MAX}"
        if line != line.rstrip():
            yield number, "white space at the end"
        if "\t" in line:
            yield number, "a tab"
    if text and not text.endswith("\n"):
        yield text.count("\n") + 1, "no newline at the end of the file"


def check_words(_path, text):
    for number, line in enumerate(text.split("\n"), 1):
        for what, pattern in (("leftover marker", MARKERS), ("path of one machine", MACHINE_PATHS),
                              ("host of a package registry", HOSTS)):
            match = pattern.search(line)
            if match:
                yield number, f"{what} '{match.group(0)}'"


def check_arrow(path, folder, header):
    """A quoted include from the root: allowed by ARROWS?"""
    if header.endswith(".pb.h") or "/" not in header:
        return None
    if owner(header) is None:
        return f'"{header}" does not start with a folder of the tree (includes are from the root)'
    if owner(header) == folder or within(header, ARROWS[folder]):
        return None
    if folder == "tests" and header.startswith("tests/"):
        return None
    allowed = ", ".join(ARROWS[folder]) or "nothing of ours"
    return f'{folder} may not include "{header}"; it may include {allowed} (DESIGN section 3)'


def check_includes(path, text):
    folder = owner(path)
    if folder is None or not path.endswith(CODE):
        return
    for number, line in enumerate(text.split("\n"), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, header = match.groups()
        if quote == '"':
            problem = check_arrow(path, folder, header)
            if problem:
                yield number, problem
        for name, pattern, allowed in OUTSIDE:
            if pattern.search(header) and not within(path, allowed):
                yield number, f"{folder} may not touch {name} (<{header}>); only {', '.join(allowed)} may"
        if folder in PURE_FOLDERS and PURE_FORBIDDEN.match(header):
            yield number, f"{folder} is pure: no <{header}> (time, messages and storage are passed in)"


def strip_literals(text):
    """Comments, strings and character literals blanked, lines kept."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'
                         r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.S)
    return pattern.sub(lambda match: "\n" * match.group(0).count("\n") or " ", text)


HEADER_OF_FUNCTION = re.compile(r"\)[\w:<>,*&\s\-]*$")
NO_FUNCTION = re.compile(r"^\s*(\}?\s*else\s*)?(if|for|while|switch|catch)\b|^\s*(namespace|class|struct|union|enum)\b")


def functions(text):
    """(first line, number of lines) of each outermost function body: by braces, good enough for formatted code."""
    clean = re.sub(r"^\s*#.*$", "", strip_literals(text), flags=re.M)
    stack, line, start = [], 1, 0
    statement, statement_line = "", 1
    for character in clean:
        if character == "{":
            is_function = bool(HEADER_OF_FUNCTION.search(statement)) and not NO_FUNCTION.match(statement)
            stack.append((is_function and not any(entry[0] for entry in stack), statement_line))
            statement = ""
        elif character == "}":
            if stack:
                is_function, start = stack.pop()
                if is_function:
                    yield start, line - start + 1
            statement = ""
        elif character == ";":
            statement = ""
        else:
            if not statement.strip() and not character.isspace():
                statement, statement_line = "", line
            statement += character
        line += character == "\n"


def check_functions(path, text):
    if path.endswith(CODE):
        for line, length in functions(text):
            if length > FUNCTION_LINES_MAX:
                yield line, f"a function of {length} lines; at most {FUNCTION_LINES_MAX}"
    elif path.endswith(".py"):
        yield from check_python_functions(text)


def check_python_functions(text):
    import ast
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        yield error.lineno or 1, f"not Python: {error.msg}"
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES_MAX:
                yield node.lineno, f"a function of {length} lines; at most {FUNCTION_LINES_MAX}"


RULES = [check_spdx, check_length, check_lines, check_words, check_includes, check_functions]


def check_text(path, text):
    for rule in RULES:
        for line, problem in rule(path, text):
            yield f"{path}:{line}: {problem}"


def check_readmes(paths):
    """Each top-level folder with files, and each folder of host/, has a README.md."""
    present = set(paths)
    folders = {path.split("/")[0] for path in paths if "/" in path and not path.startswith(".")}
    folders |= {"/".join(path.split("/")[:2]) for path in paths if path.startswith("host/") and path.count("/") > 1}
    for folder in sorted(folders):
        if f"{folder}/README.md" not in present:
            yield f"{folder}/: no README.md that says what lives here, what may not, and where to start reading"
    if paths and "README.md" not in present:
        yield "README.md: missing at the top"
