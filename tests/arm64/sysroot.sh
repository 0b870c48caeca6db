#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes the arm64 sysroot and meson's cross file, once: sysroot.sh BUILD_FOLDER. Debian's libdpdk-dev for amd64 and for
# arm64 cannot be installed side by side, so the libraries are unpacked into a folder of their own.
set -euo pipefail
build=$(readlink -f "$1")
sysroot=$build/sysroot-arm64
# Another list of packages is another sysroot.
packages=libc6-dev,libdpdk-dev,libtbb-dev,libprotobuf-dev,libisal-dev,liburing-dev,libxxhash-dev,libgtest-dev
packages+=,librapidcheck-dev,libbenchmark-dev

if [[ $(cat "$sysroot/.packages" 2>/dev/null) != "$packages" ]]; then
  rm -rf "$sysroot" "$sysroot.new"
  if ! mmdebstrap --variant=extract --architectures=arm64 --include="$packages" bookworm "$sysroot.new" \
    >"$build/sysroot-arm64.log" 2>&1; then
    tail -n 20 "$build/sysroot-arm64.log" >&2
    echo "the arm64 libraries could not be fetched; see above" >&2
    rm -rf "$sysroot.new"
    exit 1
  fi
  echo "$packages" >"$sysroot.new/.packages"
  mv "$sysroot.new" "$sysroot"
fi

cat >"$build/arm64.ini.new" <<END
[constants]
sysroot = '$sysroot'
[binaries]
c = ['ccache', 'aarch64-linux-gnu-gcc']
cpp = ['ccache', 'aarch64-linux-gnu-g++']
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-aarch64-static', '-L', sysroot]
[properties]
sys_root = sysroot
pkg_config_libdir = [sysroot + '/usr/lib/aarch64-linux-gnu/pkgconfig', sysroot + '/usr/share/pkgconfig',
                     sysroot + '/usr/lib/pkgconfig']
[built-in options]
c_args = ['--sysroot=' + sysroot]
cpp_args = ['--sysroot=' + sysroot]
c_link_args = ['--sysroot=' + sysroot, '-Wl,--allow-shlib-undefined']
cpp_link_args = ['--sysroot=' + sysroot, '-Wl,--allow-shlib-undefined']
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
END
# Untouched if it is the same: meson would configure again.
cmp -s "$build/arm64.ini.new" "$build/arm64.ini" || cp "$build/arm64.ini.new" "$build/arm64.ini"
rm -f "$build/arm64.ini.new"
