; C = A * B^T: A is 16 x 64, B is 8 x 64 bf16, C is 16 x 8 fp32. One warp, steps
; of 16 along k, two stages of tiles that cp.async fills ahead.
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@tilesA = internal addrspace(3) global [1024 x i8] undef, align 16
@tilesB = internal addrspace(3) global [512 x i8] undef, align 16

define internal void @fetch(ptr %A, ptr %B, i32 %lane, i32 %step) {
entry:
  %stage = and i32 %step, 1
  %row = lshr i32 %lane, 1
  %half = and i32 %lane, 1
  %rowOffset = shl i32 %row, 7
  %stepOffset = shl i32 %step, 5
  %halfOffset = shl i32 %half, 4
  %o1 = add i32 %rowOffset, %stepOffset
  %o2 = add i32 %o1, %halfOffset
  %from = getelementptr i8, ptr %A, i32 %o2
  %globalFrom = addrspacecast ptr %from to ptr addrspace(1)
  %stageA = shl i32 %stage, 9
  %own = shl i32 %lane, 4
  %t1 = add i32 %stageA, %own
  %to = getelementptr i8, ptr addrspace(3) @tilesA, i32 %t1
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %to, ptr addrspace(1) %globalFrom)
  %hasB = icmp ult i32 %lane, 16
  br i1 %hasB, label %second, label %done
second:
  %fromB = getelementptr i8, ptr %B, i32 %o2
  %globalFromB = addrspacecast ptr %fromB to ptr addrspace(1)
  %stageB = shl i32 %stage, 8
  %t2 = add i32 %stageB, %own
  %toB = getelementptr i8, ptr addrspace(3) @tilesB, i32 %t2
  call void @llvm.nvvm.cp.async.ca.shared.global.16(ptr addrspace(3) %toB, ptr addrspace(1) %globalFromB)
  br label %done
done:
  ret void
}

define ptx_kernel void @mma(ptr %A, ptr %B, ptr %C) {
entry:
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  call void @fetch(ptr %A, ptr %B, i32 %lane, i32 0)
  call void @llvm.nvvm.cp.async.commit.group()
  %rowA = and i32 %lane, 15
  %halfA = lshr i32 %lane, 4
  %ra = shl i32 %rowA, 5
  %ha = shl i32 %halfA, 4
  %inA = add i32 %ra, %ha
  %rowB = and i32 %lane, 7
  %halfB0 = lshr i32 %lane, 3
  %halfB = and i32 %halfB0, 1
  %rb = shl i32 %rowB, 5
  %hb = shl i32 %halfB, 4
  %inB = add i32 %rb, %hb
  br label %step

step:
  %s = phi i32 [ 0, %entry ], [ %next, %compute ]
  %c0 = phi float [ 0.0, %entry ], [ %d0, %compute ]
  %c1 = phi float [ 0.0, %entry ], [ %d1, %compute ]
  %c2 = phi float [ 0.0, %entry ], [ %d2, %compute ]
  %c3 = phi float [ 0.0, %entry ], [ %d3, %compute ]
  %next = add i32 %s, 1
  %more = icmp ult i32 %next, 4
  br i1 %more, label %ahead, label %compute

ahead:
  call void @fetch(ptr %A, ptr %B, i32 %lane, i32 %next)
  br label %compute

compute:
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 1)
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  %stage = and i32 %s, 1
  %sa = shl i32 %stage, 9
  %offsetA = add i32 %sa, %inA
  %addressA = getelementptr i8, ptr addrspace(3) @tilesA, i32 %offsetA
  %a = call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %addressA)
  %sb = shl i32 %stage, 8
  %offsetB = add i32 %sb, %inB
  %addressB = getelementptr i8, ptr addrspace(3) @tilesB, i32 %offsetB
  %b = call { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) %addressB)
  %a0 = extractvalue { i32, i32, i32, i32 } %a, 0
  %a1 = extractvalue { i32, i32, i32, i32 } %a, 1
  %a2 = extractvalue { i32, i32, i32, i32 } %a, 2
  %a3 = extractvalue { i32, i32, i32, i32 } %a, 3
  %b0 = extractvalue { i32, i32 } %b, 0
  %b1 = extractvalue { i32, i32 } %b, 1
  %d = call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1, float %c0, float %c1, float %c2, float %c3)
  %d0 = extractvalue { float, float, float, float } %d, 0
  %d1 = extractvalue { float, float, float, float } %d, 1
  %d2 = extractvalue { float, float, float, float } %d, 2
  %d3 = extractvalue { float, float, float, float } %d, 3
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  br i1 %more, label %step, label %write

write:
  %group = lshr i32 %lane, 2
  %inGroup = and i32 %lane, 3
  %r = shl i32 %group, 3
  %p = shl i32 %inGroup, 1
  %at = add i32 %r, %p
  %to0 = getelementptr float, ptr %C, i32 %at
  %pair0 = insertelement <2 x float> poison, float %d0, i32 0
  %pair1 = insertelement <2 x float> %pair0, float %d1, i32 1
  store <2 x float> %pair1, ptr %to0, align 8
  %at8 = add i32 %at, 64
  %to8 = getelementptr float, ptr %C, i32 %at8
  %pair2 = insertelement <2 x float> poison, float %d2, i32 0
  %pair3 = insertelement <2 x float> %pair2, float %d3, i32 1
  store <2 x float> %pair3, ptr %to8, align 8
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.ca.shared.global.16(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32)
declare void @llvm.nvvm.bar.warp.sync(i32)
declare { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3))
declare { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3))
declare { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32, i32, i32, i32, i32, i32, float, float, float, float)
