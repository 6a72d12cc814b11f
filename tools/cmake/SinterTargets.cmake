# sinter_runtime_library(NAME SOURCES.. LINK..): one library of the run tower.
# C++20 with libc and libstdc++ only; includes are written from the top folder.
function(sinter_runtime_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}
                             ${CMAKE_SOURCE_DIR}/runtime/include)
  target_link_libraries(${name} PUBLIC ${arg_LINK})
endfunction()
