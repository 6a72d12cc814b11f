//===- LibraryApi.cpp - the functions of an inference library -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Linked into every library that sinterc makes. The library exports each
// sinter_library_X here as sinter_<model>_X (compiler/emit/Link.cpp), which the
// generated header declares.
//
//===----------------------------------------------------------------------===//
#include "sinter/sinter.h"

extern "C" {

// The model's artifact; it gets this name at link time.
extern const sinter_artifact sinter_linked_artifact;

static const sinter_entry &entry() { return sinter_linked_artifact.entries[0]; }

int32_t sinter_library_create(int32_t threads, sinter_program **program) {
  sinter_status status =
      sinter_program_create(&sinter_linked_artifact, nullptr, threads, program);
  if (status != SINTER_OK)
    return status;
  status = sinter_program_warm_up(*program);
  if (status != SINTER_OK) {
    sinter_program_destroy(*program);
    *program = nullptr;
  }
  return status;
}

void sinter_library_destroy(sinter_program *program) {
  sinter_program_destroy(program);
}

int32_t sinter_library_run(sinter_program *program, const void *const *inputs,
                           void *const *outputs) {
  return sinter_program_run(program, entry().name, nullptr, inputs, outputs);
}

int32_t sinter_library_input_memory(sinter_program *program, void **inputs) {
  return sinter_program_input_memory(program, entry().name, inputs);
}

const char *sinter_library_last_error(void) { return sinter_last_error(); }

const sinter_tensor_desc *sinter_library_inputs(uint32_t *count) {
  if (count)
    *count = entry().numInputs;
  return entry().inputs;
}

const sinter_tensor_desc *sinter_library_outputs(uint32_t *count) {
  if (count)
    *count = entry().numOutputs;
  return entry().outputs;
}

int32_t sinter_library_read_state(sinter_program *program, uint32_t index,
                                  void *to) {
  return sinter_program_read_state(program, index, to);
}

int32_t sinter_library_write_state(sinter_program *program, uint32_t index,
                                   const void *from) {
  return sinter_program_write_state(program, index, from);
}

/// For sinter-run and sinter-inspect.
const sinter_artifact *sinter_library_artifact(void) {
  return &sinter_linked_artifact;
}

} // extern "C"
