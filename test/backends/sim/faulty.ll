; Kernels with one fault each; the test takes the one it wants.
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@dynamic = external addrspace(3) global [0 x i32], align 16
@tile = internal addrspace(3) global [64 x i32] undef, align 4

; y[i] = x[63 - i] through shared memory, without the barrier.
define void @missing_barrier(ptr %x, ptr %y) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %from = getelementptr inbounds i32, ptr %x, i32 %tid
  %value = load i32, ptr %from, align 4
  %own = getelementptr inbounds [64 x i32], ptr addrspace(3) @tile, i32 0, i32 %tid
  store i32 %value, ptr addrspace(3) %own, align 4
  %mirror = sub i32 63, %tid
  %other = getelementptr inbounds [64 x i32], ptr addrspace(3) @tile, i32 0, i32 %mirror
  %read = load i32, ptr addrspace(3) %other, align 4
  %to = getelementptr inbounds i32, ptr %y, i32 %tid
  store i32 %read, ptr %to, align 4
  ret void
}

; Half of the block waits for the other, which ends.
define void @divergent_exit(ptr %x, ptr %y) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %low = icmp ult i32 %tid, 32
  br i1 %low, label %wait, label %exit
wait:
  call void @llvm.nvvm.barrier0()
  br label %exit
exit:
  ret void
}

; Both halves wait, at different barriers of the text.
define void @divergent_sites(ptr %x, ptr %y) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %low = icmp ult i32 %tid, 32
  br i1 %low, label %one, label %two
one:
  call void @llvm.nvvm.barrier0()
  store i32 1, ptr %y, align 4
  br label %exit
two:
  call void @llvm.nvvm.barrier0()
  br label %exit
exit:
  ret void
}

; Named barriers that wait for each other.
define void @deadlock(ptr %x, ptr %y) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %low = icmp ult i32 %tid, 32
  br i1 %low, label %one, label %two
one:
  call void @llvm.nvvm.barrier(i32 1, i32 64)
  br label %exit
two:
  call void @llvm.nvvm.barrier(i32 2, i32 64)
  br label %exit
exit:
  ret void
}

; A store behind the end: i <= n in place of i < n.
define void @out_of_bounds(ptr %x, ptr %y) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %next = add i32 %tid, 1
  %to = getelementptr i32, ptr %y, i32 %next
  store i32 %tid, ptr %to, align 4
  ret void
}

; A store behind dynamic shared memory.
define void @shared_overrun(ptr %x, ptr %y) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %next = add i32 %tid, 1
  %to = getelementptr i32, ptr addrspace(3) @dynamic, i32 %next
  store i32 %tid, ptr addrspace(3) %to, align 4
  ret void
}

; x is an operand that is only read.
define void @writes_first(ptr %x, ptr %y) {
  store i32 1, ptr %x, align 4
  ret void
}

; A 16-byte load from x + 4.
define void @misaligned(ptr %x, ptr %y) {
  %from = getelementptr i32, ptr %x, i32 1
  %value = load <4 x i32>, ptr %from, align 16
  store <4 x i32> %value, ptr %y, align 4
  ret void
}

; Two blocks write one element.
define void @global_race(ptr %x, ptr %y) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %to = getelementptr inbounds i32, ptr %y, i32 %tid
  store i32 %tid, ptr %to, align 4
  ret void
}

; The same by an atomic addition: no race.
define void @global_atomic(ptr %x, ptr %y) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %to = getelementptr inbounds i32, ptr %y, i32 %tid
  %old = atomicrmw add ptr %to, i32 %tid monotonic, align 4
  ret void
}

; Every block reads x[0], takes a ticket of y[1], and the last writes x[0]: the
; reads are before that, of four blocks of one thread.
define void @last_block_writes(ptr %x, ptr %y) {
entry:
  %value = load i32, ptr %x, align 4
  call void asm sideeffect "membar.gl;", ""()
  %ticket = getelementptr inbounds i32, ptr %y, i32 1
  %old = atomicrmw add ptr %ticket, i32 1 monotonic, align 4
  %last = icmp eq i32 %old, 3
  br i1 %last, label %write, label %done
write:
  call void asm sideeffect "membar.gl;", ""()
  %more = add i32 %value, 1
  store i32 %more, ptr %x, align 4
  br label %done
done:
  ret void
}

; The same without the first fence.
define void @no_fence_before_ticket(ptr %x, ptr %y) {
entry:
  %value = load i32, ptr %x, align 4
  %ticket = getelementptr inbounds i32, ptr %y, i32 1
  %old = atomicrmw add ptr %ticket, i32 1 seq_cst, align 4
  %last = icmp eq i32 %old, 3
  br i1 %last, label %write, label %done
write:
  call void asm sideeffect "membar.gl;", ""()
  %more = add i32 %value, 1
  store i32 %more, ptr %x, align 4
  br label %done
done:
  ret void
}

; The same without the second one: that of a block orders nothing for others.
define void @no_fence_after_ticket(ptr %x, ptr %y) {
entry:
  %value = load i32, ptr %x, align 4
  call void asm sideeffect "membar.gl;", ""()
  %ticket = getelementptr inbounds i32, ptr %y, i32 1
  %old = atomicrmw add ptr %ticket, i32 1 monotonic, align 4
  %last = icmp eq i32 %old, 3
  br i1 %last, label %write, label %done
write:
  call void asm sideeffect "membar.cta;", ""()
  %more = add i32 %value, 1
  store i32 %more, ptr %x, align 4
  br label %done
done:
  ret void
}

; The same, but blocks read after they took their tickets.
define void @reads_after_ticket(ptr %x, ptr %y) {
entry:
  call void asm sideeffect "membar.gl;", ""()
  %ticket = getelementptr inbounds i32, ptr %y, i32 1
  %old = atomicrmw add ptr %ticket, i32 1 monotonic, align 4
  %value = load i32, ptr %x, align 4
  %last = icmp eq i32 %old, 3
  br i1 %last, label %write, label %done
write:
  call void asm sideeffect "membar.gl;", ""()
  %more = add i32 %value, 1
  store i32 %more, ptr %x, align 4
  br label %done
done:
  ret void
}

; x is read as constant data, and written.
define void @constant_written(ptr %x, ptr %y) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %from = getelementptr inbounds i32, ptr %y, i32 %tid
  %value = load i32, ptr %from, align 4, !invariant.load !0
  %more = add i32 %value, 1
  store i32 %more, ptr %from, align 4
  ret void
}

; Lanes of one warp at two shuffles.
define void @divergent_shuffle(ptr %x, ptr %y) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %low = icmp ult i32 %tid, 16
  br i1 %low, label %one, label %two
one:
  %a = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %tid, i32 0, i32 31)
  store i32 %a, ptr %y, align 4
  br label %exit
two:
  %b = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %tid, i32 1, i32 31)
  br label %exit
exit:
  ret void
}

; Lane 0 asks a lane that its mask does not name.
define void @shuffle_outside_mask(ptr %x, ptr %y) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %low = icmp ult i32 %tid, 16
  br i1 %low, label %one, label %exit
one:
  %a = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 65535, i32 %tid, i32 20, i32 31)
  br label %exit
exit:
  ret void
}

define void @traps(ptr %x, ptr %y) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %is = icmp eq i32 %tid, 3
  br i1 %is, label %bad, label %exit
bad:
  call void @llvm.trap()
  unreachable
exit:
  ret void
}

define void @divides(ptr %x, ptr %y) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %less = sub i32 %tid, 5
  %ratio = udiv i32 100, %less
  %to = getelementptr inbounds i32, ptr %y, i32 %tid
  store i32 %ratio, ptr %to, align 4
  ret void
}

; Waits for a flag that nobody sets.
define void @spins(ptr %x, ptr %y) {
  br label %again
again:
  %flag = load atomic i32, ptr %x monotonic, align 4
  %isSet = icmp ne i32 %flag, 0
  br i1 %isSet, label %exit, label %again
exit:
  ret void
}

define void @unknown_intrinsic(ptr %x, ptr %y) {
  call void @llvm.nvvm.setmaxnreg.inc.sync.aligned.u32(i32 96)
  ret void
}

define void @unknown_ptx(ptr %x, ptr %y) {
  call void asm sideeffect "wgmma.fence.sync.aligned;", ""()
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare void @llvm.nvvm.barrier0()
declare void @llvm.nvvm.barrier(i32, i32)
declare void @llvm.nvvm.setmaxnreg.inc.sync.aligned.u32(i32)
declare void @llvm.trap()

!0 = !{}

; What is read behind x may be y's.
define void @into_neighbour(ptr %x, ptr %y) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %next = add i32 %tid, 1
  %from = getelementptr i32, ptr %x, i32 %next
  %value = load i32, ptr %from, align 4
  %to = getelementptr inbounds i32, ptr %y, i32 %tid
  store i32 %value, ptr %to, align 4
  ret void
}

; The address of the buffer after the last one.
define void @past_parameters(ptr byval([2 x ptr]) align 8 %buffers) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %number = add i32 %tid, 1
  %place = getelementptr ptr, ptr %buffers, i32 %number
  %to = load ptr, ptr %place, align 8
  store i32 %tid, ptr %to, align 4
  ret void
}

; y[i] = x[i] after a wait for the launches before.
define void @waits(ptr %x, ptr %y) {
  call void asm sideeffect "griddepcontrol.wait;", "~{memory}"()
  call void asm sideeffect "griddepcontrol.launch_dependents;", "~{memory}"()
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %from = getelementptr inbounds i32, ptr %x, i32 %tid
  %value = load i32, ptr %from, align 4
  %to = getelementptr inbounds i32, ptr %y, i32 %tid
  store i32 %value, ptr %to, align 4
  ret void
}

; The same with a barrier, so that threads have stacks of their own.
define void @waits_and_meets(ptr %x, ptr %y) {
  call void asm sideeffect "griddepcontrol.wait;", "~{memory}"()
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %from = getelementptr inbounds i32, ptr %x, i32 %tid
  %value = load i32, ptr %from, align 4
  call void @llvm.nvvm.barrier0()
  %to = getelementptr inbounds i32, ptr %y, i32 %tid
  store i32 %value, ptr %to, align 4
  ret void
}

; It writes before it waits.
define void @waits_late(ptr %x, ptr %y) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %to = getelementptr inbounds i32, ptr %y, i32 %tid
  store i32 1, ptr %to, align 4
  call void asm sideeffect "griddepcontrol.wait;", "~{memory}"()
  ret void
}

; Only one thread waits; the others end.
define void @waits_once(ptr %x, ptr %y) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %wait, label %exit
wait:
  call void asm sideeffect "griddepcontrol.wait;", "~{memory}"()
  store i32 1, ptr %y, align 4
  br label %exit
exit:
  ret void
}
