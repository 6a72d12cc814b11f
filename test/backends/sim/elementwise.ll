; y[i] = 2 * x[i] + 1 for i < 1000.
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define void @elementwise(ptr %x, ptr %y) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %first = mul i32 %ctaid, %ntid
  %i = add i32 %first, %tid
  %in = icmp ult i32 %i, 1000
  br i1 %in, label %body, label %exit

body:
  %index = zext i32 %i to i64
  %from = getelementptr inbounds float, ptr %x, i64 %index
  %global = addrspacecast ptr %from to ptr addrspace(1)
  %value = load float, ptr addrspace(1) %global, align 4, !invariant.load !1
  %twice = fmul float %value, 2.0
  %result = fadd float %twice, 1.0
  %to = getelementptr inbounds float, ptr %y, i64 %index
  store float %result, ptr %to, align 4
  br label %exit

exit:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()

!nvvm.annotations = !{!0}
!0 = !{ptr @elementwise, !"kernel", i32 1}
!1 = !{}
