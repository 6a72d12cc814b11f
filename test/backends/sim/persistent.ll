; Blocks that wait for each other. In each of 5 rounds thread t of block b reads
; what the next block wrote in the round before, adds 1, and writes it to the
; other half of y: y has 2 halves of gridDim * 32 numbers. x[0] counts the blocks
; that have finished a round, of all rounds. The kernel `persistent` is right;
; the others lack one of the things that it needs.
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@tile = internal addrspace(3) global [32 x i32] undef, align 4

define internal void @round(ptr %y, i32 %round) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %blocks = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %after = add i32 %block, 1
  %next = urem i32 %after, %blocks
  %half = mul i32 %blocks, 32
  %odd = and i32 %round, 1
  %even = xor i32 %odd, 1
  %fromHalf = mul i32 %odd, %half
  %toHalf = mul i32 %even, %half
  %theirs = shl i32 %next, 5
  %mine = shl i32 %block, 5
  %r0 = add i32 %fromHalf, %theirs
  %read = add i32 %r0, %tid
  %w0 = add i32 %toHalf, %mine
  %write = add i32 %w0, %tid
  %from = getelementptr inbounds i32, ptr %y, i32 %read
  %to = getelementptr inbounds i32, ptr %y, i32 %write
  %value = load i32, ptr %from, align 4
  ; Through shared memory, which each block has of its own.
  %slot = getelementptr inbounds [32 x i32], ptr addrspace(3) @tile, i32 0, i32 %tid
  store i32 %value, ptr addrspace(3) %slot, align 4
  call void @llvm.nvvm.barrier0()
  %again = load i32, ptr addrspace(3) %slot, align 4
  %more = add i32 %again, 1
  store i32 %more, ptr %to, align 4
  ret void
}

define internal void @meet(ptr %x, i32 %round, i1 %fences, i1 %waits) {
  call void @llvm.nvvm.barrier0()
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %isFirst = icmp eq i32 %tid, 0
  br i1 %isFirst, label %publish, label %met
publish:
  br i1 %fences, label %fence, label %count
fence:
  call void @llvm.nvvm.membar.gl()
  br label %count
count:
  %old = atomicrmw add ptr %x, i32 1 monotonic, align 4
  br i1 %waits, label %poll, label %seen
poll:
  %blocks = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %rounds = add i32 %round, 1
  %all = mul i32 %blocks, %rounds
  br label %spin
spin:
  %now = load atomic i32, ptr %x monotonic, align 4
  %less = icmp ult i32 %now, %all
  br i1 %less, label %spin, label %seen
seen:
  call void @llvm.nvvm.membar.gl()
  br label %met
met:
  call void @llvm.nvvm.barrier0()
  ret void
}

define internal void @rounds(ptr %x, ptr %y, i1 %fences, i1 %waits) {
entry:
  br label %loop
loop:
  %round = phi i32 [ 0, %entry ], [ %next, %loop ]
  call void @round(ptr %y, i32 %round)
  call void @meet(ptr %x, i32 %round, i1 %fences, i1 %waits)
  %next = add i32 %round, 1
  %more = icmp ult i32 %next, 5
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

define ptx_kernel void @persistent(ptr %x, ptr %y) {
  call void @rounds(ptr %x, ptr %y, i1 true, i1 true)
  ret void
}

define ptx_kernel void @no_fence(ptr %x, ptr %y) {
  call void @rounds(ptr %x, ptr %y, i1 false, i1 true)
  ret void
}

define ptx_kernel void @no_wait(ptr %x, ptr %y) {
  call void @rounds(ptr %x, ptr %y, i1 true, i1 false)
  ret void
}

; Waits for one block more than there are.
define ptx_kernel void @endless(ptr %x, ptr %y) {
  call void @meet(ptr %x, i32 99, i1 true, i1 true)
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
declare void @llvm.nvvm.barrier0()
declare void @llvm.nvvm.membar.gl()
