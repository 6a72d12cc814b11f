//===- SimLtRefusal.h - products that the stand-in refuses ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_LIBRARY_SIMLTREFUSAL_H
#define SINTER_BACKENDS_SIM_LIBRARY_SIMLTREFUSAL_H

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sinter::sim {

struct LtProblem;

/// The operand types of products that have epilogues.
enum class LtInput { F32, Tf32, Bf16, F16 };

/// Products for which the stand-in for cuBLASLt has no algorithm. What is
/// absent matches all, except that an absent epilogue does not match the
/// default one.
struct LtRefusal {
  std::optional<uint32_t> epilogue;
  std::optional<LtInput> input;
  std::optional<int32_t> output; // lt::DataType

  bool matches(const LtProblem &problem) const;
};

/// Reads "all" or "EPILOGUE:INPUT:OUTPUT+..." with numbers of lt::Epilogue,
/// types f32, tf32, bf16 and f16, and * for all: "4:bf16:f32+152:*:*".
std::optional<std::vector<LtRefusal>> readRefusals(std::string_view text);

/// What all handles refuse from now on; nothing by default.
void setLtRefusals(std::vector<LtRefusal> refusals);
bool isRefused(const LtProblem &problem);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_LIBRARY_SIMLTREFUSAL_H
