# Language mode, warnings and sanitizers of every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_C_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
if(NOT SINTER_ASSERTIONS)
  add_compile_definitions(NDEBUG)
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter -ffunction-sections
                    -fdata-sections -ffp-contract=off)
# ccache refuses precompiled headers with timestamps in them.
add_compile_options($<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang$<SEMICOLON>-fno-pch-timestamp>)
if(SINTER_ASAN)
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer)
  # Its check reads 8 bytes before a function; before generated code there may be no page.
  add_compile_options($<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  add_link_options(-fsanitize=address,undefined)
endif()

find_program(SINTER_CCACHE ccache)
if(SINTER_CCACHE)
  set(launcher ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${SINTER_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
endif()
find_program(SINTER_LLD NAMES ld.lld-19)
# GCC has no --ld-path; the run tower links with any linker.
if(SINTER_LLD AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_link_options(--ld-path=${SINTER_LLD})
endif()
