// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// The scratch has 64 bytes of arena, and two places of 64 bytes for the carried value.
// CHECK-LABEL: module @carried
module @carried {
  // CHECK: exec.program @main.scan0("x" : tensor<4xf32>, "h" : tensor<4xf32>) -> ("n" : tensor<4xf32>, "y" : tensor<4xf32>) arena 64 unshared 64 max_live 64 attributes {sym_visibility = "private"} {
  exec.program @main.scan0("x" : tensor<4xf32>, "h" : tensor<4xf32>) -> ("n" : tensor<4xf32>, "y" : tensor<4xf32>) arena 64 unshared 64 max_live 64 attributes {sym_visibility = "private"} {
    %x = exec.buffer input[0] 0 + 16 : tensor<4xf32>
    %h = exec.buffer input[1] 0 + 16 : tensor<4xf32>
    %n = exec.buffer output[0] 0 + 16 : tensor<4xf32>
    %y = exec.buffer output[1] 0 + 16 : tensor<4xf32>
    exec.copy %x -> %n
    exec.copy %h -> %y
  }
  exec.program @main("x" : tensor<3x4xf32>, "h" : tensor<4xf32>) -> ("last" : tensor<4xf32>, "y" : tensor<3x4xf32>) arena 192 unshared 192 max_live 192 {
    %x = exec.buffer input[0] 0 + 48 : tensor<3x4xf32>
    %h = exec.buffer input[1] 0 + 16 : tensor<4xf32>
    %last = exec.buffer output[0] 0 + 16 : tensor<4xf32>
    %y = exec.buffer output[1] 0 + 48 : tensor<3x4xf32>
    %s = exec.buffer arena[0] 0 + 192 : tensor<192xi8>
    // CHECK: exec.scan @main.scan0 trips 3 reverse(%{{.*}}, %{{.*}}) -> (%{{.*}}, %{{.*}}) scratch %{{.*}} inputs [#exec.scan_input<slice 0>, #exec.scan_input<carried 1 output 0>] outputs [#exec.scan_output<last 0>, #exec.scan_output<slice 1>]
    exec.scan @main.scan0 trips 3 reverse (%x, %h) -> (%last, %y) scratch %s inputs [#exec.scan_input<slice 0>, #exec.scan_input<carried 1 output 0>]
        outputs [#exec.scan_output<last 0>, #exec.scan_output<slice 1>]
  }
}
