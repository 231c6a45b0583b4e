# attend_layer(NAME SOURCES ... [ALONE source ...] [PUBLIC_HEADERS header.h ...] [USES layer ...] [CALLS layer ...]
#              [LIBRARIES target ...])
#
# One folder of src/ as an object target, attend_NAME. Headers are included as "NAME/header.h", and a folder can be included
# only by targets that say they use it: each target sees its own folder and those of its USES through a directory that holds
# nothing but a link to that folder. A wrong include is therefore a build error, not a matter of review.
#
# PUBLIC_HEADERS are the files of include/attend that are this layer's. A layer of the library sees, in the same way, its own and
# those of the layers that it USES or CALLS (of which it needs no more than the public headers), and what these see. The rooms
# of the program see them all, as users do. Nothing but what public headers declare is visible outside of the library.
#
# The sources of a folder are compiled together: most of the time of compiling a small file is its headers
# (docs/build.md). So names in anonymous namespaces are unique within a folder. ALONE are sources that are compiled by themselves;
# the dev preset compiles every source by itself, which shows a file that lives on its neighbours' includes.
function(attend_layer name)
  cmake_parse_arguments(layer "" "" "SOURCES;ALONE;PUBLIC_HEADERS;USES;CALLS;LIBRARIES" ${ARGN})
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
  target_include_directories(attend_${name} PUBLIC ${root})
  if(name IN_LIST library_layers)
    attend_public_headers(${name} HEADERS ${layer_PUBLIC_HEADERS} BELOW ${layer_USES} ${layer_CALLS})
    target_link_libraries(attend_${name} PUBLIC attend_${name}_headers)
    set_target_properties(attend_${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  else()
    target_include_directories(attend_${name} BEFORE PUBLIC ${PROJECT_SOURCE_DIR}/include)
  endif()
  target_link_libraries(attend_${name} PUBLIC Threads::Threads ${layer_LIBRARIES})
  set_target_properties(attend_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  attend_warnings(attend_${name})
  if(ATTEND_FUZZ AND NOT name IN_LIST never_fuzzed)
    target_compile_options(attend_${name} PRIVATE -fsanitize=fuzzer-no-link)  # the fuzzer sees which branches an input takes
  endif()
  foreach(used IN LISTS layer_USES)
    # Between object targets this passes on include paths only; the objects are linked once, by the library or the program.
    # PRIVATE: whoever uses this folder says for itself what else it uses.
    target_link_libraries(attend_${name} PRIVATE attend_${used})
  endforeach()
endfunction()

# attend_NAME_headers: a directory that has each of a layer's public headers, and those of the layers below it. What they declare is
# what the library exports: here they are included as visible, while all else that is compiled into it is hidden. So the headers
# themselves need no marks.
function(attend_public_headers name)
  cmake_parse_arguments(public "" "" "HEADERS;BELOW" ${ARGN})
  set(root ${PROJECT_BINARY_DIR}/public_roots/${name})
  file(GLOB stale RELATIVE ${root}/attend ${root}/attend/*.h)  # a header may have moved to another layer
  foreach(header IN LISTS public_HEADERS)
    list(REMOVE_ITEM stale ${header})
    file(CONFIGURE OUTPUT ${root}/attend/${header} @ONLY CONTENT [[
#pragma once
#pragma GCC visibility push(default)
#include "@PROJECT_SOURCE_DIR@/include/attend/@header@"
#pragma GCC visibility pop
]])
  endforeach()
  foreach(header IN LISTS stale)
    file(REMOVE ${root}/attend/${header})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY attend_owned_headers ${public_HEADERS})
  add_library(attend_${name}_headers INTERFACE)
  target_include_directories(attend_${name}_headers INTERFACE ${root})
  foreach(layer IN LISTS public_BELOW)
    target_link_libraries(attend_${name}_headers INTERFACE attend_${layer}_headers)
  endforeach()
endfunction()

# Each public header is some layer's, and one layer's only.
function(attend_check_public_headers)
  get_property(owned GLOBAL PROPERTY attend_owned_headers)
  file(GLOB all RELATIVE ${PROJECT_SOURCE_DIR}/include/attend CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/attend/*.h)
  list(REMOVE_ITEM all attend.h)  # which includes the others
  list(SORT owned)
  list(SORT all)
  if(NOT owned STREQUAL all)
    message(FATAL_ERROR "the PUBLIC_HEADERS of the layers are\n${owned}\nbut include/attend has\n${all}")
  endif()
endfunction()

function(attend_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict)  # gcc 12 sees overlap in std::string + char* (its bug 105651)
  endif()
endfunction()
