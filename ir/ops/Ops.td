//===- Ops.td - all op families -------------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// One file includes all families, for the declarations that they share.
//
//===----------------------------------------------------------------------===//
include "ops/Elementwise.td"
include "ops/Linear.td"
include "ops/Conv.td"
include "ops/Reduce.td"
include "ops/Shape.td"
include "ops/Norm.td"
include "ops/Attention.td"
include "ops/Loss.td"
include "ops/Optim.td"
include "ops/Random.td"
include "ops/Collective.td"
include "ops/Control.td"
include "ops/Program.td"
include "ops/Kernel.td"
