mf_test(NAME cmd_doctor SOURCE unit/cmd_doctor.c ROOM mf_cmd)
mf_test(NAME cmd_session SOURCE unit/cmd_session.c ROOM mf_cmd RANKS 1 2 3)
mf_test(NAME cmd_values SOURCE unit/cmd_values.c ROOM mf_cmd)

# Whole programs: tests/cli/<name>.py MESOFORGE MPIEXEC
foreach(name answer asked bench dataset dataset_files deepspeed ending foreign formats generate given hostile keys learn match_io meaning moe pictures questions report seals sentences terminal tiles train)
  add_test(NAME ${name} COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/${name}.py $<TARGET_FILE:mesoforge>
    ${MF_MPIEXEC})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
endforeach()

# Skipped where Python has no PyTorch.
add_test(NAME pytorch COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/pytorch.py $<TARGET_FILE:mesoforge> ${PROJECT_SOURCE_DIR})
set_tests_properties(pytorch PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")

add_test(NAME gallery COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cli/gallery.sh $<TARGET_FILE:mesoforge> ${PROJECT_SOURCE_DIR}
  ${CMAKE_CURRENT_BINARY_DIR}/gallery)
set_tests_properties(gallery PROPERTIES TIMEOUT 600 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")

# The example of experts in small: a table and pictures.
add_test(NAME example_moe COMMAND ${PROJECT_SOURCE_DIR}/examples/moe/moe.sh -q -o ${CMAKE_CURRENT_BINARY_DIR}/example_moe)
set_tests_properties(example_moe PROPERTIES TIMEOUT 300 LABELS cli ENVIRONMENT "${MF_TEST_ENV};MESOFORGE=$<TARGET_FILE:mesoforge>")

# Files that fail, are cut short, lose what was not flushed. A library before the program, which sanitizers do not like.
if(NOT MF_SANITIZE)
  add_library(faulty_io MODULE tool/faulty_io.c)
  set_target_properties(faulty_io PROPERTIES PREFIX "")
  target_compile_options(faulty_io PRIVATE -Wno-missing-prototypes -Wno-conversion -U_FORTIFY_SOURCE -fsemantic-interposition)
  target_link_libraries(faulty_io PRIVATE ${CMAKE_DL_LIBS})
  add_test(NAME faults COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/faults.py $<TARGET_FILE:mesoforge>
    $<TARGET_FILE:faulty_io>)
  add_test(NAME read_faults COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/read_faults.py $<TARGET_FILE:mesoforge>
    $<TARGET_FILE:faulty_io>)
  # what a sanitizer keeps beside the arrays is more than the group has
  add_test(NAME memory_group COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/memory_group.py $<TARGET_FILE:mesoforge>
    ${MF_MPIEXEC})
  add_library(strange_node MODULE tool/strange_node.c)
  set_target_properties(strange_node PROPERTIES PREFIX "")
  target_compile_options(strange_node PRIVATE -Wno-missing-prototypes -U_FORTIFY_SOURCE)
  target_link_libraries(strange_node PRIVATE ${CMAKE_DL_LIBS})
  add_test(NAME doctor_cluster COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/doctor_cluster.py $<TARGET_FILE:mesoforge>
    ${MF_MPIEXEC} $<TARGET_FILE:strange_node>)
  set_tests_properties(doctor_cluster PROPERTIES TIMEOUT 300 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
  add_library(getenv_alone MODULE tool/getenv_alone.c)
  set_target_properties(getenv_alone PROPERTIES PREFIX "")
  target_compile_options(getenv_alone PRIVATE -Wno-missing-prototypes -Wno-pedantic)
  target_link_libraries(getenv_alone PRIVATE ${CMAKE_DL_LIBS})
  add_test(NAME getenv_alone COMMAND ${CMAKE_COMMAND} -E env LD_PRELOAD=$<TARGET_FILE:getenv_alone> ${MF_MPIEXEC} -n 2 $<TARGET_FILE:mesoforge> probe --json)
  set_tests_properties(getenv_alone PROPERTIES TIMEOUT 300 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
  add_library(faulty_mpi MODULE tool/faulty_mpi.c)
  set_target_properties(faulty_mpi PROPERTIES PREFIX "")
  target_compile_options(faulty_mpi PRIVATE -Wno-missing-prototypes)
  target_include_directories(faulty_mpi PRIVATE ${PROJECT_SOURCE_DIR} ${MPI_C_INCLUDE_DIRS}) # the library comes with the program
  add_test(NAME rank_faults COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/rank_faults.py $<TARGET_FILE:mesoforge>
    $<TARGET_FILE:faulty_mpi> ${MF_MPIEXEC})
  set_tests_properties(faults memory_group read_faults rank_faults PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
endif()

add_test(NAME packaging COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/install_recipes.py $<TARGET_FILE:mesoforge>
  ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
set_tests_properties(packaging PROPERTIES RESOURCE_LOCK build TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
