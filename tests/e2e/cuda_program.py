#!/usr/bin/env python3
"""A CUDA program of somebody else: holds memory of the first GPU, or touches an address that is none.

cuda_program.py hold MIB     prints "ready" and waits for its standard input to end
cuda_program.py illegal      ends with the driver's error of an illegal access; the kernel logs an Xid
Needs nothing but the driver: libcuda.so.1 by ctypes.
"""
import ctypes
import sys

# Stores to an address that nobody allocated.
ILLEGAL = b""".version 6.0
.target sm_70
.address_size 64
.visible .entry touch()
{
    .reg .b64 %rd<2>;
    .reg .b32 %r<2>;
    mov.u64 %rd1, 0x123456780000;
    mov.u32 %r1, 1;
    st.global.u32 [%rd1], %r1;
    ret;
}
"""


class Cuda:
    """The driver with a context on the first GPU."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        self.device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(self.device), 0)
        self.context = ctypes.c_void_p()
        self.call("cuCtxCreate_v2", ctypes.byref(self.context), 0, self.device)

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code != 0:
            raise SystemExit(f"{name}: error {code}")

    def hold(self, mib):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(mib << 20))
        print("ready", flush=True)
        sys.stdin.read()

    def illegal(self):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ILLEGAL)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"touch")
        self.call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, None, None)
        self.call("cuCtxSynchronize")


if __name__ == "__main__":
    if sys.argv[1] == "hold":
        Cuda().hold(int(sys.argv[2]))
    else:
        Cuda().illegal()
