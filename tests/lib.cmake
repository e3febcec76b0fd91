# The library, as a host sees it.
set(lib_model_args ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/language/gpt2)
foreach(name lib lib_fields lib_match lib_model lib_run lib_targets lib_cancel lib_threads)
  mf_test(NAME ${name} SOURCE unit/${name}.c ROOM libmesoforge ARGS ${${name}_args})
  target_link_libraries(${name} PRIVATE m Threads::Threads OpenMP::OpenMP_C)
endforeach()
add_test(NAME lib_cancel_long COMMAND lib_cancel 200 CONFIGURATIONS long)
set_tests_properties(lib_cancel_long PROPERTIES TIMEOUT 1500 LABELS long ENVIRONMENT "${MF_TEST_ENV}")

if(NOT MF_SANITIZE)
  add_library(host_calls MODULE tool/host_calls.c)
  set_target_properties(host_calls PROPERTIES PREFIX "")
  target_compile_options(host_calls PRIVATE -Wno-missing-prototypes -U_FORTIFY_SOURCE)
  target_link_libraries(host_calls PRIVATE ${CMAKE_DL_LIBS})
  add_test(NAME lib_symbols COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/lib_symbols.sh $<TARGET_FILE:libmesoforge>
    $<TARGET_FILE:host_calls> $<TARGET_FILE:lib> $<TARGET_FILE:lib_fields> $<TARGET_FILE:lib_match> $<TARGET_FILE:lib_run> $<TARGET_FILE:lib_targets>
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  add_test(NAME lib_abi COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/lib_abi.sh $<TARGET_FILE:libmesoforge> ${PROJECT_SOURCE_DIR}/include
    ${CMAKE_CURRENT_SOURCE_DIR}/data/mesoforge.abi)
  add_test(NAME lib_python COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/library.py $<TARGET_FILE:mesoforge>
    $<TARGET_FILE:libmesoforge> ${PROJECT_SOURCE_DIR})
  add_test(NAME lib_python_verbs COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/library_verbs.py $<TARGET_FILE:mesoforge>
    $<TARGET_FILE:libmesoforge> ${PROJECT_SOURCE_DIR})
  add_test(NAME notebooks COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/notebooks.py $<TARGET_FILE:libmesoforge> ${PROJECT_SOURCE_DIR})
  add_test(NAME lib_python_ranks COMMAND ${MF_MPIEXEC} -n 3 /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/library_ranks.py
    $<TARGET_FILE:libmesoforge> ${PROJECT_SOURCE_DIR})
  set_tests_properties(lib_symbols lib_abi lib_python lib_python_verbs lib_python_ranks notebooks PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
endif()

# The host starts and ends MPI, and lends a communicator of its own.
mf_test(NAME lib_ranks SOURCE unit/lib_ranks.c ROOM libmesoforge RANKS 1 2 3 4)
target_link_libraries(lib_ranks PRIVATE MPI::MPI_C Threads::Threads)
if(MF_SANITIZE)
  # The host's MPI_Init() leaves blocks whose callers the fast unwinder cannot name.
  set_property(TEST lib_ranks_3 APPEND PROPERTY ENVIRONMENT
    ASAN_OPTIONS=allocator_may_return_null=1:symbolize=0:fast_unwind_on_malloc=0)
endif()

# It makes places refuse, which have no names in the library.
mf_test(NAME lib_memory SOURCE unit/lib_memory.c ROOM mf_cmd RANKS 1 2)
target_sources(lib_memory PRIVATE $<TARGET_OBJECTS:libmesoforge>)
target_link_libraries(lib_memory PRIVATE m MPI::MPI_C)
add_test(NAME lib_memory_long COMMAND lib_memory all CONFIGURATIONS long)
add_test(NAME lib_memory_2_long COMMAND ${MF_MPIEXEC} -n 2 $<TARGET_FILE:lib_memory> all CONFIGURATIONS long)
set_tests_properties(lib_memory_long lib_memory_2_long PROPERTIES TIMEOUT 1500 LABELS long ENVIRONMENT "${MF_TEST_ENV}")
