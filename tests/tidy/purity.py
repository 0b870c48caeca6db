#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Proves with nm that objects import no clock, allocation, random source, thread or system call.

Arguments: [--sanitized] LIBRARY.a … What one library needs another one of the list (or itself) may define; only the
few functions below may be missing. Everything unknown is refused, so that a new import has to be allowed here."""
import re
import subprocess
import sys

ALLOWED = {
    "memcpy", "memset", "memcmp", "memmove",       # what compilers make of loops and copies
    "__memcpy_chk", "__memset_chk", "__memmove_chk",  # the same, fortified
    "__popcountdi2",                               # arithmetic of the compiler: no such instruction in the baseline
    "__stack_chk_fail", "__assert_fail",           # bugs end the program
    "_GLOBAL_OFFSET_TABLE_", "__gxx_personality_v0", "_Unwind_Resume", "__cxa_pure_virtual", "__dso_handle",
    "strlen", "memchr", "bcmp",
}
ALLOWED_PATTERN = re.compile(r"^(_ZSt9terminatev|_ZTVN10__cxxabiv1.*|_ZSt21__glibcxx_assert_fail.*|"
                             r"_ZSt2\d__throw_out_of_range_fmtPKcz|_ZSt20__throw_length_errorPKc)$")


def parse(text):
    """(undefined, defined) symbols in nm's output."""
    undefined, defined = set(), set()
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and words[0] in ("U", "w", "v"):
            undefined.add(words[1].split("@")[0])
        elif len(words) == 3:
            defined.add(words[2].split("@")[0])
    return undefined, defined


def forbidden(undefined, defined):
    return sorted(symbol for symbol in undefined - defined
                  if symbol not in ALLOWED and not ALLOWED_PATTERN.match(symbol))


def main(arguments):
    if "--sanitized" in arguments:
        print("a sanitizer's calls are in every object of this build; the release build is checked")
        return 77
    undefined, defined, sizes = set(), set(), []
    for library in arguments:
        result = subprocess.run(["nm", "--format=bsd", library], capture_output=True, text=True, check=True)
        needs, has = parse(result.stdout)
        sizes.append(f"{library}: {len(has)} symbols defined, {len(needs)} imported")
        undefined |= needs
        defined |= has
    print("\n".join(sizes))
    found = forbidden(undefined, defined)
    for symbol in found:
        name = subprocess.run(["c++filt", symbol], capture_output=True, text=True, check=False).stdout.strip()
        print(f"imported and not allowed: {name or symbol}")
    print("the allowed ones: " + " ".join(sorted(undefined - defined - set(found))))
    if not defined:
        print("no symbol at all: the wrong file?")
    return 1 if found or not defined else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
