# Installs attend, builds another project against it with find_package, and runs it: the C++ snippets of the documents must compile
# and print what the documents say they print.
#   cmake -DSOURCE=<repository> -DBUILD=<build folder> -DCOMPILER=<c++> -P run.cmake
set(work ${BUILD}/install_test)
set(documents README.md docs/weights.md)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work}/consumer)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}")
  endif()
endfunction()

# snippet_of(DOCUMENT CODE PRINTED): the C++ of a document, and what it says the code prints.
function(snippet_of document code printed)
  file(READ ${SOURCE}/${document} text)
  if(NOT text MATCHES "```cpp\n(.*)\n```\n\nprints\n\n```text\n")
    message(FATAL_ERROR "${document} has no C++ snippet followed by what it prints")
  endif()
  string(REGEX REPLACE "^.*```cpp\n" "" rest "${text}")
  string(FIND "${rest}" "\n```" end)
  string(SUBSTRING "${rest}" 0 ${end} snippet)
  set(${code} "${snippet}" PARENT_SCOPE)
  string(REGEX REPLACE "^.*```\n\nprints\n\n```text\n" "" rest "${rest}")
  string(FIND "${rest}" "```" end)
  string(SUBSTRING "${rest}" 0 ${end} expected)
  set(${printed} "${expected}" PARENT_SCOPE)
endfunction()

foreach(document IN LISTS documents)
  get_filename_component(name ${document} NAME_WE)
  snippet_of(${document} snippet expected_${name})
  file(WRITE ${work}/consumer/${name}.cpp "${snippet}\n")
endforeach()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE}/tests/install/consumer -B ${work}/consumer -G Ninja
  -DCMAKE_PREFIX_PATH=${work}/prefix -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${work}/consumer)
foreach(document IN LISTS documents)
  get_filename_component(name ${document} NAME_WE)
  execute_process(COMMAND ${work}/consumer/${name} RESULT_VARIABLE status OUTPUT_VARIABLE printed)
  if(NOT status EQUAL 0 OR NOT printed STREQUAL expected_${name})
    message(FATAL_ERROR
      "the snippet of ${document} ended with ${status} and printed\n${printed}\nbut it says\n${expected_${name}}")
  endif()
endforeach()

# The example programs, as somebody builds them who has nothing but the installed library.
run(${CMAKE_COMMAND} -S ${SOURCE}/examples -B ${work}/examples -G Ninja
  -DCMAKE_PREFIX_PATH=${work}/prefix -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${work}/examples)

run(${work}/prefix/bin/attend --version)

# The service of systemd names the program where it is.
set(unit ${work}/prefix/lib/systemd/system/attend.service)
file(READ ${unit} text)
if(NOT text MATCHES "ExecStart=${work}/prefix/bin/attend serve ")
  message(FATAL_ERROR "attend.service does not start ${work}/prefix/bin/attend")
endif()
find_program(analyze systemd-analyze)
if(analyze)
  run(${analyze} verify --man=no ${unit})
else()
  message("attend.service was not verified: there is no systemd-analyze")
endif()
message("installed, found, built, and it prints what the documents say")
