# The compiler, its flags, and what is refused.

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  message(FATAL_ERROR
    "GCC ${CMAKE_CXX_COMPILER_VERSION} miscompiles C++20 coroutines (`if (co_await f())` may never finish, "
    "temporaries in an awaited call are freed twice). Use clang-19: cmake --preset release")
endif()

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_compile_options(-Wall -Wextra -Werror -Wno-unused-parameter -Wno-missing-field-initializers
                    -fno-omit-frame-pointer -fdiagnostics-color=auto)
include_directories(${CMAKE_SOURCE_DIR}/src)

option(CUBEPLANE_SANITIZE "Address and undefined-behaviour sanitizers" OFF)
option(CUBEPLANE_FUZZ "libFuzzer targets (Clang)" OFF)
option(CUBEPLANE_BENCH "benchmarks" OFF)
if(CUBEPLANE_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()
