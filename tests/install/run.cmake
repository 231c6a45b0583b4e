# Installs attend, builds another project against it with find_package, and runs it: the C++ snippet of the README must compile and
# print what the README says it prints.
#   cmake -DSOURCE=<repository> -DBUILD=<build folder> -DCOMPILER=<c++> -P run.cmake
set(work ${BUILD}/install_test)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work}/consumer)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}")
  endif()
endfunction()

file(READ ${SOURCE}/README.md readme)
if(NOT readme MATCHES "```cpp\n(.*)\n```\n\nprints\n\n```text\n")
  message(FATAL_ERROR "README.md has no C++ snippet followed by what it prints")
endif()
string(REGEX REPLACE "^.*```cpp\n" "" rest "${readme}")
string(FIND "${rest}" "\n```" end)
string(SUBSTRING "${rest}" 0 ${end} snippet)
string(REGEX REPLACE "^.*```\n\nprints\n\n```text\n" "" rest "${rest}")
string(FIND "${rest}" "```" end)
string(SUBSTRING "${rest}" 0 ${end} expected)
file(WRITE ${work}/consumer/snippet.cpp "${snippet}\n")

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE}/tests/install/consumer -B ${work}/consumer -G Ninja
  -DCMAKE_PREFIX_PATH=${work}/prefix -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${work}/consumer)
execute_process(COMMAND ${work}/consumer/consumer RESULT_VARIABLE status OUTPUT_VARIABLE printed)
if(NOT status EQUAL 0 OR NOT printed STREQUAL expected)
  message(FATAL_ERROR "the snippet ended with ${status} and printed\n${printed}\nbut the README says\n${expected}")
endif()

run(${work}/prefix/bin/attend --version)
message("installed, found, built, and it prints what the README says")
