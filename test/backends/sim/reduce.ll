; y[block] = sum of x[block * 256 .. + 256): a butterfly in each warp, then one
; warp over the warps' sums in shared memory.
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@sums = internal addrspace(3) global [8 x float] undef, align 4

define internal float @warpSum(float %value) {
  %a = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %value, i32 16, i32 31)
  %v1 = fadd float %value, %a
  %b = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v1, i32 8, i32 31)
  %v2 = fadd float %v1, %b
  %c = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v2, i32 4, i32 31)
  %v3 = fadd float %v2, %c
  %d = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v3, i32 2, i32 31)
  %v4 = fadd float %v3, %d
  %e = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v4, i32 1, i32 31)
  %v5 = fadd float %v4, %e
  ret float %v5
}

define ptx_kernel void @reduce(ptr %x, ptr %y) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = shl i32 %ctaid, 8
  %i = or disjoint i32 %first, %tid
  %index = zext i32 %i to i64
  %from = getelementptr inbounds float, ptr %x, i64 %index
  %value = load float, ptr %from, align 4
  %sum = call float @warpSum(float %value)
  %lane = and i32 %tid, 31
  %warp = lshr i32 %tid, 5
  %isFirst = icmp eq i32 %lane, 0
  br i1 %isFirst, label %keep, label %wait

keep:
  %slot = getelementptr inbounds [8 x float], ptr addrspace(3) @sums, i32 0, i32 %warp
  store float %sum, ptr addrspace(3) %slot, align 4
  br label %wait

wait:
  call void @llvm.nvvm.barrier0()
  %inWarp0 = icmp ult i32 %tid, 32
  br i1 %inWarp0, label %last, label %exit

last:
  %has = icmp ult i32 %tid, 8
  br i1 %has, label %fetch, label %combine

fetch:
  %mine = getelementptr inbounds [8 x float], ptr addrspace(3) @sums, i32 0, i32 %tid
  %partial = load float, ptr addrspace(3) %mine, align 4
  br label %combine

combine:
  %part = phi float [ %partial, %fetch ], [ 0.0, %last ]
  %total = call float @warpSum(float %part)
  %writes = icmp eq i32 %tid, 0
  br i1 %writes, label %write, label %exit

write:
  %b = zext i32 %ctaid to i64
  %to = getelementptr inbounds float, ptr %y, i64 %b
  store float %total, ptr %to, align 4
  br label %exit

exit:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
declare void @llvm.nvvm.barrier0()
