; C = A * B, all 64 x 64 fp32, row-major: blocks of 16 x 16 threads, one element
; each, tiles of 16 x 16 in shared memory, two barriers a step.
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@tileA = internal addrspace(3) global [256 x float] undef, align 16
@tiles = external addrspace(3) global [0 x float], align 16

define ptx_kernel void @sgemm(ptr %A, ptr %B, ptr %C) {
entry:
  %tx = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ty = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %bx = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %by = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %row0 = shl i32 %by, 4
  %row = add i32 %row0, %ty
  %column0 = shl i32 %bx, 4
  %column = add i32 %column0, %tx
  %rowStart = shl i32 %row, 6
  %t = shl i32 %ty, 4
  %own = add i32 %t, %tx
  %slotA = getelementptr inbounds [256 x float], ptr addrspace(3) @tileA, i32 0, i32 %own
  %slotB = getelementptr inbounds float, ptr addrspace(3) @tiles, i32 %own
  br label %step

step:
  %k0 = phi i32 [ 0, %entry ], [ %nextK0, %done ]
  %sum0 = phi float [ 0.0, %entry ], [ %sum, %done ]
  %ka = add i32 %k0, %tx
  %ia = add i32 %rowStart, %ka
  %ia64 = zext i32 %ia to i64
  %pa = getelementptr inbounds float, ptr %A, i64 %ia64
  %va = load float, ptr %pa, align 4
  store float %va, ptr addrspace(3) %slotA, align 4
  %kb = add i32 %k0, %ty
  %ib0 = shl i32 %kb, 6
  %ib = add i32 %ib0, %column
  %ib64 = zext i32 %ib to i64
  %pb = getelementptr inbounds float, ptr %B, i64 %ib64
  %vb = load float, ptr %pb, align 4
  store float %vb, ptr addrspace(3) %slotB, align 4
  call void @llvm.nvvm.barrier0()
  br label %inner

inner:
  %k = phi i32 [ 0, %step ], [ %nextK, %inner ]
  %sum1 = phi float [ %sum0, %step ], [ %sum, %inner ]
  %ja = add i32 %t, %k
  %qa = getelementptr inbounds [256 x float], ptr addrspace(3) @tileA, i32 0, i32 %ja
  %a = load float, ptr addrspace(3) %qa, align 4
  %jb0 = shl i32 %k, 4
  %jb = add i32 %jb0, %tx
  %qb = getelementptr inbounds float, ptr addrspace(3) @tiles, i32 %jb
  %b = load float, ptr addrspace(3) %qb, align 4
  %sum = call float @llvm.fma.f32(float %a, float %b, float %sum1)
  %nextK = add i32 %k, 1
  %more = icmp ult i32 %nextK, 16
  br i1 %more, label %inner, label %done

done:
  call void @llvm.nvvm.barrier0()
  %nextK0 = add i32 %k0, 16
  %moreSteps = icmp ult i32 %nextK0, 64
  br i1 %moreSteps, label %step, label %write

write:
  %ic = add i32 %rowStart, %column
  %ic64 = zext i32 %ic to i64
  %pc = getelementptr inbounds float, ptr %C, i64 %ic64
  store float %sum, ptr %pc, align 4
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare void @llvm.nvvm.barrier0()
declare float @llvm.fma.f32(float, float, float)
