//===- Contracts.h - what --require demands of a program --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A contract is a bound on something that can be counted in a planned program:
// kernels, copies, bytes, the share of multiplications in a type. The driver
// evaluates contracts after the plan phase, before any code is generated. The
// manifest has the actual numbers of all contracts, demanded or not.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_CHECKS_CONTRACTS_H
#define SINTER_COMPILER_CHECKS_CONTRACTS_H

#include "compiler/options/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace sinter::compiler {

/// Reads "no-copies,kernels:40,peak:8GiB,bf16-flops:90%" and adds to
/// `contracts`; returns what is wrong, "" if nothing.
std::string readContracts(llvm::StringRef text,
                          std::vector<Contract> &contracts);

/// "kernels" of "kernels:40".
llvm::StringRef nameOf(const Contract &contract);

/// The names of all contracts with their forms and meanings, for help and docs:
/// "kernels:N" -> "at most N launches and library calls in a run".
std::vector<std::pair<std::string, std::string>> contractTable();

/// One line per contract that `module`, in exec form, breaks: the contract, the
/// actual number, and the nodes that break it.
std::vector<std::string> brokenContracts(llvm::ArrayRef<Contract> contracts,
                                         mlir::ModuleOp module);

/// The actual number of every contract, by name.
llvm::json::Object realisedContracts(mlir::ModuleOp module);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_CHECKS_CONTRACTS_H
