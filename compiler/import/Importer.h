//===- Importer.h - the interface of an input format ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A format is a folder compiler/import/<format> with one Importer, registered
// in Importers.cpp. The rest of the compiler sees models of every format
// through this interface. docs/add-an-importer.md says how to add one.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_IMPORTER_H
#define SINTER_COMPILER_IMPORT_IMPORTER_H

#include "compiler/import/ExportPiece.h"
#include "compiler/import/ImportOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sinter::compiler {

/// A model file that has yet to be read.
struct ModelFile {
  /// As the user gave it; "-" is stdin. Messages begin with it.
  std::string path;
  /// The first bytes, for Importer::recognizes; "" if they cannot be read. A
  /// pipe or a device is not opened to get them.
  std::string head;
  /// All bytes of stdin, which can be read only once; null for a file.
  std::unique_ptr<llvm::MemoryBuffer> content;

  bool isStdin() const { return content != nullptr; }
};

/// An input that a caller must feed, as the model declares it.
struct ModelInput {
  struct Dim {
    std::optional<int64_t> size;
    std::string symbol; // empty: anonymous when `size` is absent, too
  };
  std::string name;
  std::optional<std::vector<Dim>> dims; // absent: not even the rank is declared
};

class ReducibleModel;

/// A model as it was read. It is immutable, so that compilations can share it,
/// and must outlive the contexts of the modules that it makes: their constants
/// may refer to its bytes.
class SourceModel {
public:
  virtual ~SourceModel() = default;

  /// Makes a module in the form that onnx/Import.h shows. Null after errors. An
  /// importer reports every operator that it does not support, not only the
  /// first one: `sinterc --check` prints all of them.
  virtual mlir::OwningOpRef<mlir::ModuleOp>
  import(const ImportOptions &options, mlir::MLIRContext *context,
         ImportErrors &errors) const = 0;

  /// Empty if the format binds no sizes.
  virtual std::vector<ModelInput> inputs() const { return {}; }
  /// Whether ImportOptions can bind sizes (batch, dims, shapes).
  virtual bool bindsSizes() const { return true; }
  /// Whether the file holds a sinter module. It may be written by hand, come
  /// from any phase before `plan`, and lack what importers add.
  virtual bool isModule() const { return false; }
  /// Names that --freeze may match besides those of states.
  virtual llvm::ArrayRef<std::string> heldNames() const { return {}; }

  /// What a trainer's export writes: this model, switched to inference, with
  /// the current bytes of its states. `program` is an imported module after any
  /// phase. Empty after an error, or if the format cannot be exported.
  virtual std::vector<ExportPiece> exportTemplate(mlir::ModuleOp program,
                                                  ImportErrors &errors) const {
    return {};
  }
};

/// Models are passed around like this; null: not read yet.
using SharedModel = std::shared_ptr<const SourceModel>;

class Importer {
public:
  virtual ~Importer() = default;

  /// "ONNX".
  virtual llvm::StringRef name() const = 0;
  /// Whether `file` is of this format, by its suffix or first bytes. The first
  /// importer in the list that says so reads the file.
  virtual bool recognizes(const ModelFile &file) const = 0;
  /// Reads `file`, for training if `options` say so. For any bytes, returns a
  /// model or errors. Never crashes; time and memory are bounded by the size of
  /// the file.
  virtual SharedModel read(ModelFile file, const ImportOptions &options,
                           ImportErrors &errors) const = 0;
  /// The same as something to be edited. Null without an error if models of
  /// the format cannot be edited.
  virtual std::unique_ptr<ReducibleModel>
  readReducible(ModelFile file, ImportErrors &errors) const;
};

/// The formats of this build, in the order in which they are asked.
llvm::ArrayRef<const Importer *> importers();
/// The importer of `importers` that recognizes `file`; null if none does.
const Importer *findImporter(llvm::ArrayRef<const Importer *> importers,
                             const ModelFile &file);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_IMPORTER_H
