#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks every file of the tree against rules.py. Argument: the tree's root."""
import os
import sys

import rules

SKIPPED_FOLDERS = (".git", "__pycache__", "results", "corpus")


def files(root):
    for folder, names, entries in os.walk(root):
        names[:] = sorted(name for name in names
                          if name not in SKIPPED_FOLDERS and not (folder == root and name.startswith("build")))
        for entry in sorted(entries):
            yield os.path.relpath(os.path.join(folder, entry), root)


def check_tree(root):
    paths = list(files(root))
    problems = list(rules.check_readmes(paths))
    checked = 0
    for path in paths:
        if not rules.is_text(path):
            continue
        checked += 1
        try:
            with open(os.path.join(root, path), encoding="utf-8", newline="") as file:
                text = file.read()
        except UnicodeDecodeError as error:
            problems.append(f"{path}: not UTF-8: {error}")
            continue
        problems += rules.check_text(path, text)
    return checked, problems


def main():
    checked, problems = check_tree(sys.argv[1])
    for problem in problems:
        print(problem)
    print(f"{checked} files, {len(problems)} problems")
    return 1 if problems or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
