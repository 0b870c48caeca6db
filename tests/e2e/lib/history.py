# SPDX-License-Identifier: BSD-3-Clause
"""A history that txgen has written, before the checker of strict serializability."""
import subprocess

from .harness import check, find_program


def judge(scene, history):
    done = subprocess.run([find_program(scene.build, "txcheck"), history], capture_output=True, text=True, timeout=120,
                          check=False)
    check(done.returncode == 0, f"the history: exit code {done.returncode}\n{done.stdout[:4000]}{done.stderr[:2000]}")
    print(f"  {done.stdout.splitlines()[0].replace(history, 'history')}", flush=True)
