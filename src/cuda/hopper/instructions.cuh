// The instructions of compute capability 9.0 that C++ has no words for: barriers in shared memory, bulk copies,
// the fences of asynchronous products, barriers of some warps.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace attend::cuda {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// What all threads of a warp have alike, as one that the compiler knows to be so.
__device__ __forceinline__ int uniform(int value) { return __shfl_sync(~0u, value, 0); }

// An mbarrier: full when `count` have arrived and the announced bytes have come. Its phases alternate.
__device__ __forceinline__ void barrier_init(std::uint64_t* barrier, int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count));
}
__device__ __forceinline__ void barrier_expect(std::uint64_t* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void barrier_arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ __forceinline__ void barrier_wait(std::uint64_t* barrier, int phase) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n@done bra over;\n"
      "bra again;\nover:\n}\n" ::"r"(shared_address(barrier)),
      "r"(phase)
      : "memory");
}
__device__ __forceinline__ void barriers_ready() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// A box of a tensor (column, row, head, sequence) into shared memory.
__device__ __forceinline__ void copy_box(void* to, const CUtensorMap* map, std::uint64_t* barrier, int column,
                                         int row, int head, int sequence) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2];" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(column), "r"(row), "r"(head), "r"(sequence)
      : "memory");
}

__device__ __forceinline__ void products_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kLeft>
__device__ __forceinline__ void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}
// What this thread wrote to shared memory may be read by wgmma after the next barrier.
__device__ __forceinline__ void publish_to_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Four matrices of 8 x 8 elements of 16 bits; each lane has the address of 16 bytes.
__device__ __forceinline__ void store_matrices(std::uint32_t to, const std::uint32_t* pairs) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(pairs[0]),
               "r"(pairs[1]), "r"(pairs[2]), "r"(pairs[3])
               : "memory");
}

// Floats of shared memory to global memory, by the copy engine: stored, or added to what is there.
__device__ __forceinline__ void store_floats(float* to, const void* from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)),
               "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void add_floats(float* to, const void* from, int bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void add_to_global(float* to, float value) {
  asm volatile("red.global.add.f32 [%0], %1;" ::"l"(to), "f"(value) : "memory");
}
__device__ __forceinline__ void copies_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ __forceinline__ void copies_wait_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
__device__ __forceinline__ void copies_wait() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

// A number that blocks tell each other. Who has read it sees what was written before it was stored; the second
// fence has the copy engine see that, too.
__device__ __forceinline__ void wait_for_number(const std::int32_t* at, std::int32_t number) {
  std::int32_t found;
  do {
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(found) : "l"(at) : "memory");
  } while (found != number);
  asm volatile("fence.proxy.async;" ::: "memory");
}
__device__ __forceinline__ void tell_number(std::int32_t* at, std::int32_t number) {
  asm volatile("fence.proxy.async;\nst.release.gpu.global.s32 [%0], %1;" ::"l"(at), "r"(number) : "memory");
}

// Barriers by number, of two warpgroups.
__device__ __forceinline__ void pair_sync(int id) { asm volatile("bar.sync %0, 256;" ::"r"(id) : "memory"); }
__device__ __forceinline__ void pair_arrive(int id) { asm volatile("bar.arrive %0, 256;" ::"r"(id) : "memory"); }
__device__ __forceinline__ bool pair_any(int id, bool mine) {
  int any;
  asm volatile(
      "{\n.reg .pred a, b;\nsetp.ne.b32 a, %1, 0;\nbarrier.cta.red.or.pred b, %2, 256, a;\nselp.b32 %0, 1, 0, b;\n}\n"
      : "=r"(any)
      : "r"(static_cast<int>(mine)), "r"(id)
      : "memory");
  return uniform(any) != 0;
}

template <int kRegisters>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

__device__ __forceinline__ float exp2_unit(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Two numbers as one register, the first in its lower half.
__device__ __forceinline__ std::uint32_t packed(__nv_bfloat16, float a, float b) {
  std::uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(b), "f"(a));
  return both;
}
__device__ __forceinline__ std::uint32_t packed(__half, float a, float b) {
  std::uint32_t both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(b), "f"(a));
  return both;
}

}  // namespace attend::cuda
