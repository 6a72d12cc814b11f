// RUN: sinter-opt %s --split-input-file --verify-diagnostics

// C1: the body is a program.
module {
  exec.program @body("x" : tensor<4xf32>, "h" : tensor<4xf32>) -> ("n" : tensor<4xf32>, "y" : tensor<4xf32>) arena 64 unshared 64 max_live 64 attributes {sym_visibility = "private"} {
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
    // expected-error @below {{runs @absent, which is not an exec.program}}
    exec.scan @absent trips 3 (%x, %h) -> (%last, %y) scratch %s inputs [#exec.scan_input<slice 0>, #exec.scan_input<carried 1 output 0>] outputs [#exec.scan_output<last 0>, #exec.scan_output<slice 1>]
  }
}

// -----

// C1: an entry for each input and output.
module {
  exec.program @body("x" : tensor<4xf32>, "h" : tensor<4xf32>) -> ("n" : tensor<4xf32>, "y" : tensor<4xf32>) arena 64 unshared 64 max_live 64 attributes {sym_visibility = "private"} {
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
    // expected-error @below {{describes 1 inputs and 2 outputs, but @body has 2 and 2}}
    exec.scan @body trips 3 (%x, %h) -> (%last, %y) scratch %s inputs [#exec.scan_input<slice 0>] outputs [#exec.scan_output<last 0>, #exec.scan_output<slice 1>]
  }
}

// -----

// C2: one trip at least.
module {
  exec.program @body("x" : tensor<4xf32>, "h" : tensor<4xf32>) -> ("n" : tensor<4xf32>, "y" : tensor<4xf32>) arena 64 unshared 64 max_live 64 attributes {sym_visibility = "private"} {
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
    // expected-error @below {{has 0 trips, expected 1 or more}}
    exec.scan @body trips 0 (%x, %h) -> (%last, %y) scratch %s inputs [#exec.scan_input<slice 0>, #exec.scan_input<carried 1 output 0>] outputs [#exec.scan_output<last 0>, #exec.scan_output<slice 1>]
  }
}

// -----

// C3: a slice for each trip.
module {
  exec.program @body("x" : tensor<4xf32>, "h" : tensor<4xf32>) -> ("n" : tensor<4xf32>, "y" : tensor<4xf32>) arena 64 unshared 64 max_live 64 attributes {sym_visibility = "private"} {
    %x = exec.buffer input[0] 0 + 16 : tensor<4xf32>
    %h = exec.buffer input[1] 0 + 16 : tensor<4xf32>
    %n = exec.buffer output[0] 0 + 16 : tensor<4xf32>
    %y = exec.buffer output[1] 0 + 16 : tensor<4xf32>
    exec.copy %x -> %n
    exec.copy %h -> %y
  }
  exec.program @main("x" : tensor<2x4xf32>, "h" : tensor<4xf32>) -> ("last" : tensor<4xf32>, "y" : tensor<3x4xf32>) arena 192 unshared 192 max_live 192 {
    %x = exec.buffer input[0] 0 + 32 : tensor<2x4xf32>
    %h = exec.buffer input[1] 0 + 16 : tensor<4xf32>
    %last = exec.buffer output[0] 0 + 16 : tensor<4xf32>
    %y = exec.buffer output[1] 0 + 48 : tensor<3x4xf32>
    %s = exec.buffer arena[0] 0 + 192 : tensor<192xi8>
    // expected-error @below {{read number 0 has 32 bytes, expected 48}}
    exec.scan @body trips 3 (%x, %h) -> (%last, %y) scratch %s inputs [#exec.scan_input<slice 0>, #exec.scan_input<carried 1 output 0>] outputs [#exec.scan_output<last 0>, #exec.scan_output<slice 1>]
  }
}

// -----

// C3: others have the bytes of the input.
module {
  exec.program @body("x" : tensor<4xf32>, "h" : tensor<4xf32>) -> ("n" : tensor<4xf32>, "y" : tensor<4xf32>) arena 64 unshared 64 max_live 64 attributes {sym_visibility = "private"} {
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
    // expected-error @below {{read number 0 has 48 bytes, expected 16}}
    exec.scan @body trips 3 (%x, %h) -> (%last, %y) scratch %s inputs [#exec.scan_input<whole 0>, #exec.scan_input<carried 1 output 0>] outputs [#exec.scan_output<last 0>, #exec.scan_output<slice 1>]
  }
}

// -----

// C3: the bytes of the outputs.
module {
  exec.program @body("x" : tensor<4xf32>, "h" : tensor<4xf32>) -> ("n" : tensor<4xf32>, "y" : tensor<4xf32>) arena 64 unshared 64 max_live 64 attributes {sym_visibility = "private"} {
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
    // expected-error @below {{write number 1 has 48 bytes, expected 16}}
    exec.scan @body trips 3 (%x, %h) -> (%last, %y) scratch %s inputs [#exec.scan_input<slice 0>, #exec.scan_input<carried 1 output 0>] outputs [#exec.scan_output<last 1>, #exec.scan_output<slice 1>]
  }
}

// -----

// C3: reads that exist.
module {
  exec.program @body("x" : tensor<4xf32>, "h" : tensor<4xf32>) -> ("n" : tensor<4xf32>, "y" : tensor<4xf32>) arena 64 unshared 64 max_live 64 attributes {sym_visibility = "private"} {
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
    // expected-error @below {{has no read number 2}}
    exec.scan @body trips 3 (%x, %h) -> (%last, %y) scratch %s inputs [#exec.scan_input<slice 2>, #exec.scan_input<carried 1 output 0>] outputs [#exec.scan_output<last 0>, #exec.scan_output<slice 1>]
  }
}

// -----

// C4: outputs that exist.
module {
  exec.program @body("x" : tensor<4xf32>, "h" : tensor<4xf32>) -> ("n" : tensor<4xf32>, "y" : tensor<4xf32>) arena 64 unshared 64 max_live 64 attributes {sym_visibility = "private"} {
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
    // expected-error @below {{carries output number 2, which the body does not have}}
    exec.scan @body trips 3 (%x, %h) -> (%last, %y) scratch %s inputs [#exec.scan_input<slice 0>, #exec.scan_input<carried 1 output 2>] outputs [#exec.scan_output<last 0>, #exec.scan_output<slice 1>]
  }
}

// -----

// C4: one input for each carried output.
module {
  exec.program @body("x" : tensor<4xf32>, "h" : tensor<4xf32>) -> ("n" : tensor<4xf32>, "y" : tensor<4xf32>) arena 64 unshared 64 max_live 64 attributes {sym_visibility = "private"} {
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
    // expected-error @below {{carries output number 0 to two inputs}}
    exec.scan @body trips 3 (%h, %h) -> (%last, %y) scratch %s inputs [#exec.scan_input<carried 0 output 0>, #exec.scan_input<carried 1 output 0>] outputs [#exec.scan_output<last 0>, #exec.scan_output<slice 1>]
  }
}

// -----

// C4: only carried inputs have an output.
module {
  exec.program @body("x" : tensor<4xf32>, "h" : tensor<4xf32>) -> ("n" : tensor<4xf32>, "y" : tensor<4xf32>) arena 64 unshared 64 max_live 64 attributes {sym_visibility = "private"} {
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
    // expected-error @below {{has an output for an input that is not carried}}
    exec.scan @body trips 3 (%x, %h) -> (%last, %y) scratch %s inputs [#exec.scan_input<slice 0 output 0>, #exec.scan_input<carried 1 output 0>] outputs [#exec.scan_output<last 0>, #exec.scan_output<slice 1>]
  }
}

// -----

// C5: the arena of the body, and two places for the carried value.
module {
  exec.program @body("x" : tensor<4xf32>, "h" : tensor<4xf32>) -> ("n" : tensor<4xf32>, "y" : tensor<4xf32>) arena 64 unshared 64 max_live 64 attributes {sym_visibility = "private"} {
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
    %s = exec.buffer arena[0] 0 + 128 : tensor<128xi8>
    // expected-error @below {{has a scratch of 128 bytes, expected at least 192}}
    exec.scan @body trips 3 (%x, %h) -> (%last, %y) scratch %s inputs [#exec.scan_input<slice 0>, #exec.scan_input<carried 1 output 0>] outputs [#exec.scan_output<last 0>, #exec.scan_output<slice 1>]
  }
}

// -----

// C6: no events in the body.
module {
  exec.program @body("x" : tensor<4xf32>, "h" : tensor<4xf32>) -> ("n" : tensor<4xf32>, "y" : tensor<4xf32>) arena 64 unshared 64 max_live 64 attributes {sym_visibility = "private"} {
    %x = exec.buffer input[0] 0 + 16 : tensor<4xf32>
    %h = exec.buffer input[1] 0 + 16 : tensor<4xf32>
    %n = exec.buffer output[0] 0 + 16 : tensor<4xf32>
    %y = exec.buffer output[1] 0 + 16 : tensor<4xf32>
    exec.copy %x -> %n
    exec.copy %h -> %y
    exec.record 0
  }
  exec.program @main("x" : tensor<3x4xf32>, "h" : tensor<4xf32>) -> ("last" : tensor<4xf32>, "y" : tensor<3x4xf32>) arena 192 unshared 192 max_live 192 {
    %x = exec.buffer input[0] 0 + 48 : tensor<3x4xf32>
    %h = exec.buffer input[1] 0 + 16 : tensor<4xf32>
    %last = exec.buffer output[0] 0 + 16 : tensor<4xf32>
    %y = exec.buffer output[1] 0 + 48 : tensor<3x4xf32>
    %s = exec.buffer arena[0] 0 + 192 : tensor<192xi8>
    // expected-error @below {{has a body with exec.record}}
    exec.scan @body trips 3 (%x, %h) -> (%last, %y) scratch %s inputs [#exec.scan_input<slice 0>, #exec.scan_input<carried 1 output 0>] outputs [#exec.scan_output<last 0>, #exec.scan_output<slice 1>]
  }
}

// -----

// C6: no state in the body.
module {
  sinter.state @w : tensor<4xf32> {role = #sinter<role param>}
  exec.program @body("x" : tensor<4xf32>, "h" : tensor<4xf32>) -> ("n" : tensor<4xf32>, "y" : tensor<4xf32>) arena 64 unshared 64 max_live 64 attributes {sym_visibility = "private"} {
    %x = exec.buffer input[0] 0 + 16 : tensor<4xf32>
    %h = exec.buffer input[1] 0 + 16 : tensor<4xf32>
    %n = exec.buffer output[0] 0 + 16 : tensor<4xf32>
    %y = exec.buffer output[1] 0 + 16 : tensor<4xf32>
    exec.copy %x -> %n
    exec.copy %h -> %y
    %w = exec.buffer state[0] 0 + 16 : tensor<4xf32>
    %a = exec.buffer arena[0] 0 + 16 : tensor<4xf32>
    exec.copy %w -> %a
  }
  exec.program @main("x" : tensor<3x4xf32>, "h" : tensor<4xf32>) -> ("last" : tensor<4xf32>, "y" : tensor<3x4xf32>) arena 192 unshared 192 max_live 192 {
    %x = exec.buffer input[0] 0 + 48 : tensor<3x4xf32>
    %h = exec.buffer input[1] 0 + 16 : tensor<4xf32>
    %last = exec.buffer output[0] 0 + 16 : tensor<4xf32>
    %y = exec.buffer output[1] 0 + 48 : tensor<3x4xf32>
    %s = exec.buffer arena[0] 0 + 192 : tensor<192xi8>
    // expected-error @below {{has a body with a state}}
    exec.scan @body trips 3 (%x, %h) -> (%last, %y) scratch %s inputs [#exec.scan_input<slice 0>, #exec.scan_input<carried 1 output 0>] outputs [#exec.scan_output<last 0>, #exec.scan_output<slice 1>]
  }
}
