"""Compiles the Triton kernels of the tests: python3 kernels.py OBJCOPY [TARGET...], with Triton 3.9 (pip install triton==3.9.0).

Only compiles: no GPU and no torch are needed. Writes objects/KERNEL-TARGET.hsaco without debug information, and
objects/launches.txt, one line an object: name, target, threads of a group, bytes of group memory.
"""
import pathlib
import subprocess
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def vadd(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@triton.jit
def softmax(out, x, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + column, mask=column < n, other=-float("inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + column, values / tl.sum(values, axis=0), mask=column < n)


@triton.jit
def layernorm(out, x, weight, bias, n, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    mask = column < n
    values = tl.load(x + row * n + column, mask=mask, other=0.0)
    mean = tl.sum(values, axis=0) / n
    centred = tl.where(mask, values - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / n + epsilon)
    result = centred * scale * tl.load(weight + column, mask=mask) + tl.load(bias + column, mask=mask)
    tl.store(out + row * n + column, result, mask=mask)


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        left = tl.load(a + row[:, None] * k + start + inner[None, :])
        right = tl.load(b + (start + inner[:, None]) * n + column[None, :])
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(c + row[:, None] * n + column[None, :], total)


def matmul_of(kind):
    signature = {"a": "*" + kind, "b": "*" + kind, "c": "*fp32", "m": "i32", "n": "i32", "k": "i32"}
    return matmul, signature, {"M": 32, "N": 32, "K": 32}


KERNELS = {
    "vadd": (vadd, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 1024}),
    "softmax": (softmax, {"out": "*fp32", "x": "*fp32", "stride": "i32", "n": "i32"}, {"BLOCK": 512}),
    "layernorm": (
        layernorm,
        {"out": "*fp32", "x": "*fp32", "weight": "*fp32", "bias": "*fp32", "n": "i32", "epsilon": "fp32"},
        {"BLOCK": 512},
    ),
    "matmul_f16": matmul_of("fp16"),
    "matmul_bf16": matmul_of("bf16"),
    "matmul_f32": matmul_of("fp32"),
    # OCP's e4m3 where the target has it, gfx942's own (a bias of 8) there.
    "matmul_f8": matmul_of("fp8e4nv"),
    "matmul_f8_fnuz": matmul_of("fp8e4b8"),
}
# Triton 3.9 refuses gfx900 and gfx1030.
TARGETS = ["gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"]
F8 = {"matmul_f8": ["gfx950", "gfx1201"], "matmul_f8_fnuz": ["gfx942"]}


def main(objcopy, targets):
    objects = pathlib.Path(__file__).parent / "objects"
    objects.mkdir(exist_ok=True)
    lines = []
    for target in targets or TARGETS:
        for name, (function, signature, constants) in KERNELS.items():
            if target not in F8.get(name, [target]):
                continue
            source = ASTSource(function, signature | dict.fromkeys(constants, "constexpr"), {
                (function.arg_names.index(constant),): value for constant, value in constants.items()})
            wave = 64 if target.startswith("gfx9") else 32
            compiled = triton.compile(source, GPUTarget("hip", target, wave), {"num_warps": 4})
            path = objects / f"{name}-{target}.hsaco"
            path.write_bytes(compiled.asm["hsaco"])
            subprocess.run([objcopy, "--strip-debug", "--remove-section=.comment", str(path)], check=True)
            lines.append(f"{name} {target} {4 * wave} {compiled.metadata.shared}\n")
    (objects / "launches.txt").write_text("".join(lines))


main(sys.argv[1], sys.argv[2:])
