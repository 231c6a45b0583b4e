# attend_layer(NAME SOURCES ... [ALONE source ...] [USES layer ...] [LIBRARIES target ...])
#
# One folder of src/ as an object target, attend_NAME. Headers are included as "NAME/header.h", and a folder can be included
# only by targets that say they use it: each target sees its own folder and those of its USES through a directory that holds
# nothing but a link to that folder. A wrong include is therefore a build error, not a matter of review.
#
# The sources of a folder are compiled together: most of the time of compiling a small file is its headers
# (docs/build.md). So names in anonymous namespaces are unique within a folder. ALONE are sources that are compiled by themselves;
# the dev preset compiles every source by itself, which shows a file that lives on its neighbours' includes.
function(attend_layer name)
  cmake_parse_arguments(layer "" "" "SOURCES;ALONE;USES;LIBRARIES" ${ARGN})
  set(root ${PROJECT_BINARY_DIR}/include_roots/${name})
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/${name} SYMBOLIC)

  add_library(attend_${name} OBJECT ${layer_SOURCES} ${layer_ALONE})
  if(ATTEND_UNITY)
    set_target_properties(attend_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    set_source_files_properties(${layer_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(attend_${name} PRIVATE -Wno-subobject-linkage)  # gcc takes an included .cpp for a header
    endif()
  endif()
  target_compile_features(attend_${name} PUBLIC cxx_std_20)
  target_include_directories(attend_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${root})
  target_link_libraries(attend_${name} PUBLIC Threads::Threads ${layer_LIBRARIES})
  set_target_properties(attend_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  attend_warnings(attend_${name})
  if(ATTEND_FUZZ)
    target_compile_options(attend_${name} PRIVATE -fsanitize=fuzzer-no-link)  # the fuzzer sees which branches an input takes
  endif()
  foreach(used IN LISTS layer_USES)
    # Between object targets this passes on include paths only; the objects are linked once, by the library or the program.
    # PRIVATE: whoever uses this folder says for itself what else it uses.
    target_link_libraries(attend_${name} PRIVATE attend_${used})
  endforeach()
endfunction()

function(attend_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict)  # gcc 12 sees overlap in std::string + char* (its bug 105651)
  endif()
endfunction()
