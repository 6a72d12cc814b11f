# LLVM and MLIR 19, linked statically, and the helpers of the MLIR tower.
find_package(MLIR 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19)
message(STATUS "Using MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")
find_package(Protobuf REQUIRED) # the ONNX importer and its tests
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# Every packaged MLIR archive names the shared LLVM; we link LLVM's archives.
get_property(mlirLibs GLOBAL PROPERTY MLIR_ALL_LIBS)
foreach(lib ${mlirLibs})
  get_target_property(links ${lib} INTERFACE_LINK_LIBRARIES)
  if(links)
    list(REMOVE_ITEM links LLVM)
    set_target_properties(${lib} PROPERTIES INTERFACE_LINK_LIBRARIES "${links}")
  endif()
endforeach()
llvm_map_components_to_libnames(SINTER_LLVM_LIBS Core Support BitWriter ObjCopy Passes Target
  MCDisassembler NVPTXCodeGen NVPTXDesc NVPTXInfo X86CodeGen X86AsmParser X86Desc X86Disassembler
  X86Info OrcJIT)

# TableGen takes its include folders from the directory, not from targets.
include_directories(${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/ir
                    ${CMAKE_SOURCE_DIR}/runtime/include)
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})

# sinter_compiler_library(NAME SOURCES.. LINK.. DEPENDS..): one library of the MLIR
# tower; all share the precompiled header of sinter_ir_pch.
function(sinter_compiler_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_compile_options(${name} PRIVATE -fno-exceptions -O1)
  target_compile_definitions(${name} PRIVATE ${LLVM_DEFINITIONS})
  target_link_libraries(${name} PUBLIC ${arg_LINK})
  target_precompile_headers(${name} REUSE_FROM sinter_pch)
  add_dependencies(${name} sinter_ir_inc ${arg_DEPENDS})
endfunction()
