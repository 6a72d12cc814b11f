# sinter_prelink(NAME MAIN sources.. LIBRARIES targets.. [STATIC archives..]
#                [DEFINES macros..] [EXECUTABLE]):
# lib/sinter/NAME, one relocatable object of everything that a program of sinterc needs
# besides itself: start-up files, the run tower, and the static parts of the C and C++
# libraries. sinterc then links it with ld.lld alone, on machines that have no compiler.
set(SINTER_PRELINK_DIR ${CMAKE_BINARY_DIR}/lib/sinter)
add_custom_target(sinter_prelinked ALL)

function(sinter_compiler_file variable name)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${name}
    OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT EXISTS "${path}")
    message(FATAL_ERROR "the compiler has no ${name}")
  endif()
  set(${variable} ${path} PARENT_SCOPE)
endfunction()

# libgcc.a by its full path; -print-file-name of clang knows compiler-rt's folder only.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} --rtlib=libgcc -print-libgcc-file-name
  OUTPUT_VARIABLE SINTER_LIBGCC OUTPUT_STRIP_TRAILING_WHITESPACE)
sinter_compiler_file(SINTER_LIBC_NONSHARED libc_nonshared.a)
foreach(name crti.o crtn.o Scrt1.o)
  sinter_compiler_file(${name} ${name})
endforeach()

# Programs that sinterc makes are never instrumented: with sanitizers, the run tower is
# compiled a second time without them for this.
function(sinter_plain_library variable library)
  set(${variable} ${library} PARENT_SCOPE)
  if(NOT SINTER_ASAN)
    return()
  endif()
  set(${variable} ${library}_plain PARENT_SCOPE)
  if(TARGET ${library}_plain)
    return()
  endif()
  get_target_property(sources ${library} SOURCES)
  get_target_property(folder ${library} SOURCE_DIR)
  list(TRANSFORM sources PREPEND ${folder}/)
  add_library(${library}_plain STATIC ${sources})
  target_include_directories(${library}_plain PRIVATE
    $<TARGET_PROPERTY:${library},INCLUDE_DIRECTORIES>)
  target_compile_definitions(${library}_plain PRIVATE
    $<TARGET_PROPERTY:${library},COMPILE_DEFINITIONS>)
  target_compile_options(${library}_plain PRIVATE -fno-sanitize=all)
  add_dependencies(${library}_plain ${library}) # for the files that it generates
endfunction()

function(sinter_prelink name)
  cmake_parse_arguments(arg "EXECUTABLE" "" "MAIN;LIBRARIES;STATIC;DEFINES" ${ARGN})
  string(REPLACE "." "_" main prelink_${name})
  add_library(${main} OBJECT ${arg_MAIN} ${CMAKE_SOURCE_DIR}/tools/lib/DsoHandle.c)
  target_include_directories(${main} PRIVATE ${CMAKE_SOURCE_DIR}
                             ${CMAKE_SOURCE_DIR}/runtime/include)
  target_compile_definitions(${main} PRIVATE ${arg_DEFINES})
  if(SINTER_ASAN)
    target_compile_options(${main} PRIVATE -fno-sanitize=all)
  endif()
  set(archives)
  set(libraries)
  foreach(library ${arg_LIBRARIES})
    sinter_plain_library(plain ${library})
    list(APPEND libraries ${plain})
    list(APPEND archives $<TARGET_FILE:${plain}>)
  endforeach()
  # Scrt1.o comes late: the padding of its unwind table would end that of the others.
  set(end ${crtn.o})
  if(arg_EXECUTABLE)
    list(PREPEND end ${Scrt1.o})
  endif()
  set(output ${SINTER_PRELINK_DIR}/${name})
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${SINTER_PRELINK_DIR}
    COMMAND ${SINTER_LLD} -r --strip-debug -o ${output} ${crti.o}
            $<TARGET_OBJECTS:${main}> --start-group ${archives} ${arg_STATIC}
            ${SINTER_LIBC_NONSHARED} ${SINTER_LIBGCC} --end-group ${end}
    DEPENDS ${main} $<TARGET_OBJECTS:${main}> ${libraries}
    COMMENT "Prelinking lib/sinter/${name}"
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(${main}_file DEPENDS ${output})
  add_dependencies(sinter_prelinked ${main}_file)
endfunction()

# lib/sinter/FILE: the SONAMEs that programs need at run time, one a line.
function(sinter_list_shared_libraries file)
  cmake_parse_arguments(arg "" "" "NAMES;FILES" ${ARGN})
  set(names ${arg_NAMES})
  foreach(library ${arg_FILES})
    execute_process(COMMAND ${CMAKE_READELF} -d ${library} OUTPUT_VARIABLE dynamic)
    if(NOT dynamic MATCHES "soname: \\[([^]]+)\\]")
      message(FATAL_ERROR "${library} has no SONAME")
    endif()
    list(APPEND names ${CMAKE_MATCH_1})
  endforeach()
  list(JOIN names "\n" text)
  file(WRITE ${SINTER_PRELINK_DIR}/${file} "${text}\n")
endfunction()
