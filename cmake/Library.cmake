# One folder of src/ is one library, one test program and one link test.
#
#   cubeplane_library(state DEPS storage scheduler LIBS sqlite3)
#
# DEPS are folders of this project, LIBS are outside libraries (used by this folder's own .cc files only).
# Sources are all *.cc below the folder except *_test.cc, *_fuzz.cc and testing/ (helpers for tests).
# The link test takes the whole archive with its declared DEPS alone: a symbol from an undeclared folder is an
# undefined reference there. EXCLUDE is a regular expression of paths that make a library of their own.
# tools/check_layers holds the same for headers.
function(cubeplane_library name)
  cmake_parse_arguments(ARG "" "EXCLUDE" "DEPS;LIBS;TEST_LIBS;TEST_DEPS" ${ARGN})
  set(dir ${CMAKE_CURRENT_SOURCE_DIR})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cc)
  if(ARG_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${ARG_EXCLUDE}")
  endif()
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|_fuzz)\\.cc$|/testing/")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$|/testing/.*\\.cc$")

  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_LIBS} Threads::Threads)
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/link_main.cc "int main() { return 0; }\n")
    add_executable(${name}_link_test ${CMAKE_CURRENT_BINARY_DIR}/link_main.cc)
    target_link_libraries(${name}_link_test PRIVATE
      -Wl,--whole-archive $<TARGET_FILE:${name}> -Wl,--no-whole-archive ${name} -Wl,--no-undefined)
    add_dependencies(${name}_link_test ${name})
    add_test(NAME link_${name} COMMAND ${name}_link_test)
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${ARG_DEPS})
  endif()

  if(tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE ${name} ${ARG_LIBS} ${ARG_TEST_DEPS} ${ARG_TEST_LIBS} GTest::gtest GTest::gtest_main)
    add_test(NAME unit_${name} COMMAND ${name}_test WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  endif()

  if(CUBEPLANE_FUZZ)
    file(GLOB_RECURSE fuzzers CONFIGURE_DEPENDS ${dir}/*_fuzz.cc)
    foreach(source ${fuzzers})
      get_filename_component(target ${source} NAME_WE)
      add_executable(${target} ${source})
      target_compile_options(${target} PRIVATE -fsanitize=fuzzer)
      target_link_options(${target} PRIVATE -fsanitize=fuzzer)
      target_link_libraries(${target} PRIVATE ${name} ${ARG_LIBS})
    endforeach()
  endif()
endfunction()
