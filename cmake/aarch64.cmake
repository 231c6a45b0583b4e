# Toolchain: 64-bit ARM, compiled here and run by qemu's user mode. The compiler and its C and C++ libraries are Debian's cross
# packages; the other libraries for arm64 are unpacked under build/aarch64-sysroot (tools/setup.sh full).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

# Libraries and headers from there alone, so that none of this machine's is taken by mistake; programs from here.
set(CMAKE_FIND_ROOT_PATH ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-sysroot /usr/aarch64-linux-gnu)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-sysroot)
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-sysroot/usr/lib/aarch64-linux-gnu/pkgconfig)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# A processor with NEON and with SVE of 256 bits, so that the tests meet both. -L: where the loader and the C library are.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -cpu max,sve256=on,sve512=off -L /usr/aarch64-linux-gnu)
