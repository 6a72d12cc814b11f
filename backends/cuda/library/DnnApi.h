//===- DnnApi.h - the parts of cuDNN that Sinter uses -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Our own declarations of the part of cuDNN 9's graph ("backend") API that we
// use, as a table of functions; LtApi.h explains why. Numbers are those of the
// vendor's headers.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_DNNAPI_H
#define SINTER_BACKENDS_CUDA_LIBRARY_DNNAPI_H

#include <cstddef>
#include <cstdint>

namespace sinter::cuda::dnn {

enum Status : int {
  statusSuccess = 0,
  statusBadParam = 2000,
  statusBadParamNotFinalized = 2004,
  statusBadParamAttributeType = 2010,
  statusNotSupported = 3000,
};

/// cudnnDataType_t.
enum DataType : int32_t {
  f32 = 0,
  f64 = 1,
  f16 = 2,
  i32 = 4,
  bf16 = 9,
  boolean = 11,
};

enum DescriptorType : int {
  pointwiseDesc = 0,
  convolutionDesc = 1,
  engineDesc = 2,
  engineConfigDesc = 3,
  engineHeuristicDesc = 4,
  executionPlanDesc = 5,
  opConvForward = 10,
  opConvFilterGrad = 11,
  opConvInputGrad = 12,
  opPointwise = 13,
  opGenStats = 14,
  operationGraphDesc = 15,
  variantPackDesc = 16,
  tensorDesc = 17,
  matmulDesc = 18,
  opMatmul = 19,
  reductionDesc = 21,
  opReduction = 22,
  opReshape = 31,
  devicePropDesc = 38,
};

enum Attribute : int {
  pointwiseMode = 0,
  pointwiseMathPrecision = 1,
  pointwiseNanPropagation = 2,
  pointwiseReluLower = 3,
  pointwiseReluUpper = 4,
  pointwiseReluSlope = 5,
  pointwiseSwishBeta = 8,
  pointwiseAxis = 9,
  convComputeType = 100,
  convMode = 101,
  convDilations = 102,
  convStrides = 103,
  convPostPads = 104,
  convPrePads = 105,
  convSpatialDims = 106,
  heuristicMode = 200,
  heuristicGraph = 201,
  heuristicResults = 202,
  heuristicDeviceProp = 204,
  configEngine = 300,
  configWorkspace = 303,
  planEngineConfig = 401,
  planWorkspace = 402,
  planJson = 405,
  planDeviceProp = 407,
  planHandle = 400,
  // Forward: alpha, beta, conv, w, x, y; each gradient in its own order.
  forwardAlpha = 700,
  forwardBeta = 701,
  forwardConv = 702,
  forwardW = 703,
  forwardX = 704,
  forwardY = 705,
  inputGradAlpha = 706,
  inputGradBeta = 707,
  inputGradConv = 708,
  inputGradW = 709,
  inputGradDx = 710,
  inputGradDy = 711,
  filterGradAlpha = 712,
  filterGradBeta = 713,
  filterGradConv = 714,
  filterGradDw = 715,
  filterGradX = 716,
  filterGradDy = 717,
  opPointwiseDesc = 750,
  opPointwiseX = 751,
  opPointwiseB = 752,
  opPointwiseY = 753,
  opPointwiseT = 758,
  genStatsMode = 770,
  genStatsMathPrecision = 771,
  genStatsX = 772,
  genStatsSum = 773,
  genStatsSquares = 774,
  graphHandle = 800,
  graphOps = 801,
  tensorAlignment = 900,
  tensorDataType = 901,
  tensorDims = 902,
  tensorStrides = 903,
  tensorId = 906,
  tensorIsVirtual = 907,
  tensorIsByValue = 908,
  packIds = 1000,
  packPointers = 1001,
  packWorkspace = 1003,
  engineGraph = 1300,
  engineGlobalIndex = 1301,
  engineNumericalNotes = 1303,
  engineDeviceProp = 1307,
  matmulComputeType = 1500,
  opMatmulA = 1520,
  opMatmulB = 1521,
  opMatmulC = 1522,
  opMatmulDesc = 1523,
  reductionOperator = 1600,
  reductionComputeType = 1601,
  opReductionX = 1610,
  opReductionY = 1611,
  opReductionDesc = 1612,
  opReshapeX = 2200,
  opReshapeY = 2201,
  devicePropHandle = 2701,
  devicePropJson = 2702,
};

enum AttributeType : int {
  typeHandle = 0,
  typeDataType = 1,
  typeBoolean = 2,
  typeInt64 = 3,
  typeFloat = 4,
  typeDouble = 5,
  typePointer = 6,
  typeConvMode = 7,
  typeHeuristicMode = 8,
  typeNanPropagation = 10,
  typeNumericalNote = 11,
  typePointwiseMode = 14,
  typeDescriptor = 15,
  typeGenStatsMode = 16,
  typeReductionOperator = 18,
  typeChar = 24,
};

enum PointwiseMode : int32_t {
  add = 0,
  mul = 1,
  div = 6,
  sub = 9,
  exp = 13,
  log = 15,
  identity = 21,
  reluForward = 100,
  tanhForward = 101,
  sigmoidForward = 102,
  geluForward = 104,
  swishForward = 106,
  geluTanhForward = 107,
  compareGe = 303,
  genIndex = 501,
  binarySelect = 601,
};

enum NanPropagation : int32_t { dropNan = 0, propagateNan = 1 };
enum ReductionOperator : int32_t { reduceAdd = 0, reduceMax = 3 };
enum HeuristicMode : int32_t { heuristicFallback = 2, heuristicA = 3 };
enum NumericalNote : int32_t {
  noteTensorCore = 0,
  noteDownConverts = 1,
  noteReducedReduction = 2,
  noteFft = 3,
  noteNondeterministic = 4,
  noteWinograd = 5,
  noteCount = 10,
};

inline constexpr int32_t crossCorrelation = 1;
inline constexpr int32_t sumAndSquares = 0; // cudnnGenStatsMode_t

using Handle = struct HandleTag *;
using Desc = void *;
using Stream = void *;

/// The functions, with the vendor's names without "cudnn".
struct Api {
  size_t (*getVersion)();
  int (*create)(Handle *handle);
  int (*destroy)(Handle handle);
  int (*setStream)(Handle handle, Stream stream);
  const char *(*getErrorString)(int status);
  void (*getLastErrorString)(char *text, size_t sizeBytes);
  int (*backendCreateDescriptor)(int type, Desc *desc);
  int (*backendDestroyDescriptor)(Desc desc);
  int (*backendSetAttribute)(Desc desc, int attribute, int type, int64_t count,
                             const void *values);
  int (*backendGetAttribute)(Desc desc, int attribute, int type,
                             int64_t requested, int64_t *count, void *values);
  int (*backendFinalize)(Desc desc);
  int (*backendExecute)(Handle handle, Desc plan, Desc pack);
};

} // namespace sinter::cuda::dnn

#endif // SINTER_BACKENDS_CUDA_LIBRARY_DNNAPI_H
