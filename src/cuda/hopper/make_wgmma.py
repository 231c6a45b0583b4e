"""Writes wgmma.h: the tensor cores' asynchronous products, one function for each width and type.

The instruction names each of its registers, up to 134 of them, which no template can write.

    make_wgmma.py > build/cuda/include/cuda/hopper/wgmma.h
"""

SCORES = (48, 64, 80, 96, 128)  # keys of a tile: both operands in shared memory, rows of d elements
VALUES = (64, 128, 192, 256)  # columns of the output: the first operand in registers, rows of columns
COLUMNS = (64,)  # columns of the output: both operands in shared memory, and both as columns
TYPES = {"bf16": "__nv_bfloat16", "f16": "__half"}


def names(first, count):
    return ", ".join(f"%{i}" for i in range(first, first + count))


def function(kind, width, short, element):
    sums = width // 2
    outputs = ", ".join(f'"+f"(d[{i}])' for i in range(sums))
    instruction = f"wgmma.mma_async.sync.aligned.m64n{width}k16.f32.{short}.{short}"
    if kind != "registers":
        a, inputs, a_operand = "std::uint64_t a", '"l"(a)', f"%{sums}"
        flags, rest = "p, 1, 1, 0, 0" if kind == "shared" else "p, 1, 1, 1, 1", sums + 1
    else:
        a, inputs = "const std::uint32_t* a", '"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])'
        a_operand, flags, rest = "{" + names(sums, 4) + "}", "p, 1, 1, 1", sums + 4
    return f"""__device__ __forceinline__ void multiply_{kind}({element}, float (&d)[{sums}], {a}, std::uint64_t b, int add) {{
  asm volatile(
      "{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{rest + 1}, 0;\\n{instruction} {{{names(0, sums)}}}, {a_operand}, %{rest}, {flags};\\n}}\\n"
      : {outputs}
      : {inputs}, "l"(b), "r"(add));
}}
"""


print("// Written by make_wgmma.py.\n#pragma once\n\n#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n\n#include <cstdint>\n\nnamespace attend::cuda {\n")
for short, element in TYPES.items():
    for width in SCORES:
        print(function("shared", width, short, element))
    for width in VALUES:
        print(function("registers", width, short, element))
    for width in COLUMNS:
        print(function("columns", width, short, element))
print("}  // namespace attend::cuda")
